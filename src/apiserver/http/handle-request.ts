import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ApiRequest, jsonReply, type Outcome, STREAMING } from '../api-request.ts'
import { namespaces } from '../kinds/namespace.ts'
import { badRequest, internalError, methodNotAllowed, noSuchPath } from '../refusals.ts'
import type { FoundRoute, Route } from '../routes.ts'
import type { Serving } from '../serving.ts'
import { Refusal } from '../status.ts'
import { parseMediaType } from './media-type.ts'
import { readBody } from './request-body.ts'
import { parseRequestTarget } from './request-target.ts'
import { type Exchange, send, sendRefusal } from './send.ts'

export interface HandlerOptions {
  readonly serving: Serving
  readonly route: (path: string) => FoundRoute | undefined
  readonly isReady: () => boolean
  readonly onError: (error: unknown) => void
}

/** Headers that must not come twice: which one counts would be a guess. */
const SINGLE = new Set(['content-type', 'host', 'authorization'])

/** Answers one request; whatever goes wrong inside is a 500 and the server goes on. */
export async function handleRequest(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { serving } = options
  const exchange = { request, response }
  try {
    const outcome = await decide(options, request, response)
    if (outcome === STREAMING) return
    if (outcome instanceof Refusal) sendRefusal(serving, exchange, outcome)
    else send(serving, exchange, outcome)
  } catch (error) {
    options.onError(error)
    if (response.headersSent) response.destroy()
    else sendRefusal(serving, exchange, internalError())
  }
}

async function decide(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Outcome> {
  const target = parseRequestTarget(request.url ?? '')
  if (target instanceof Refusal) return target
  const repeated = repeatedHeader(request)
  if (repeated !== undefined) return badRequest(`the header ${repeated} must not be repeated`)
  const found = options.route(target.path)
  if (found === undefined) return noSuchPath()
  const method = request.method ?? 'GET'
  if (found.route.kind === 'resource') {
    const verb = Object.hasOwn(found.route.verbs, method) ? found.route.verbs[method] : undefined
    if (verb === undefined) return methodNotAllowed()
    const { serving } = options
    const api = apiRequest(serving, found.route, found, { request, response, query: target.query })
    return verb(serving, api)
  }
  if (method !== 'GET') return methodNotAllowed()
  return found.route.kind === 'health' ? health(options) : documentReply(found.route)
}

interface QueriedExchange extends Exchange {
  readonly query: URLSearchParams
}

function apiRequest(
  serving: Serving,
  route: Extract<Route, { kind: 'resource' }>,
  found: FoundRoute,
  { request, response, query }: QueriedExchange,
): ApiRequest {
  const isNamespace = route.face.resource === namespaces
  return {
    method: request.method ?? 'GET',
    face: route.face,
    namespace: isNamespace ? '' : found.namespace,
    name: isNamespace ? found.namespace : found.name,
    subresource: route.subresource,
    query,
    accept: request.headers.accept ?? '*/*',
    contentType: parseMediaType(request.headers['content-type'] ?? '').type,
    body: () => readBody(request, serving.limits.bodyBytes),
    response,
  }
}

function repeatedHeader(request: IncomingMessage): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index]!.toLowerCase()
    if (!SINGLE.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

function health(options: HandlerOptions): Outcome {
  const isReady = options.isReady()
  const body = [Buffer.from(isReady ? 'ok' : 'not ready')]
  return { code: isReady ? 200 : 503, contentType: 'text/plain; charset=utf-8', body }
}

function documentReply(route: Extract<Route, { kind: 'document' }>): Outcome {
  return jsonReply(200, Buffer.from(JSON.stringify(route.document)))
}
