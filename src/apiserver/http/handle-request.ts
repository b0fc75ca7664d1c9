import type { IncomingMessage, ServerResponse } from 'node:http'
import type { User } from '../../auth/user.ts'
import { openidReply } from '../authentication/openid-documents.ts'
import { pathAction, resourceAction } from '../authorization/request-action.ts'
import { versionReply } from '../discovery/version.ts'
import { parseMediaType } from '../encoding/media-type.ts'
import { limitInFlight } from '../flow-control/limit-in-flight.ts'
import type { HealthCheck, HealthEndpoint } from '../health/health-checks.ts'
import { healthReply } from '../health/health-reply.ts'
import { countRequest } from '../metrics/count-request.ts'
import { metricsReply, type ServerMetrics } from '../metrics/server-metrics.ts'
import { documentReply } from '../negotiation/served-document.ts'
import { storeStatusError } from '../persist/store-failure.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import type { Exchange } from '../request/exchange.ts'
import { RequestDeadline } from '../request/request-deadline.ts'
import type { FoundRoute, Route } from '../routing/routes.ts'
import { refusalOf } from '../status/not-permitted.ts'
import { StatusError } from '../status/status.ts'
import {
  badRequest,
  internalError,
  methodNotAllowed,
  noSuchPath,
  serviceUnavailable,
} from '../status/status-errors.ts'
import type { HttpContext } from './http-context.ts'
import type { RequestBodies } from './request-bodies.ts'
import { parseRequestTarget } from './request-target.ts'
import { send, sendStatusError } from './send.ts'
import { addWarning } from './warning.ts'

/** What every request of a server is handled with. */
export interface HandlerOptions {
  readonly context: HttpContext
  /** The route of a path, whatever the method; undefined: 404. */
  readonly route: (path: string) => FoundRoute | undefined
  readonly metrics: ServerMetrics
  readonly bodies: RequestBodies
  /** The health checks of each endpoint. */
  readonly checks: Readonly<Record<HealthEndpoint, readonly HealthCheck[]>>
  /** Receives bugs and failures of the store; the client gets a Status. */
  readonly onError: (error: unknown) => void
}

const NO_BODY = Buffer.alloc(0)

/** Headers whose repetition is 400: two parsers could choose different ones. */
const SINGLE_HEADERS = new Set(['content-type', 'host', 'authorization'])

/** Answers one request. An exception goes to `onError` and is answered as a Status; it never leaves this function. */
export async function handleRequest(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { context } = options
  const exchange = { request, response }
  try {
    const outcome = await resultOf(options, request, response)
    if (outcome === STREAMING) return
    if (outcome instanceof StatusError) sendStatusError(context, exchange, outcome)
    else send(context, exchange, outcome)
  } catch (error) {
    options.onError(error)
    if (response.headersSent) response.destroy()
    else sendStatusError(context, exchange, storeStatusError(error) ?? internalError())
  }
}

/** Checks target and headers, receives the body, takes a concurrency slot and calls the handler of the route. */
async function resultOf(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<HandlerResult> {
  const target = parseRequestTarget(request.url ?? '')
  if (target instanceof StatusError) return target
  const repeated = repeatedHeader(request)
  if (repeated !== undefined) return badRequest(`the header ${repeated} must not be repeated`)
  const found = options.route(target.path)
  const exchange = { request, response, query: target.query }
  countRequest(options.metrics, exchange, found)
  const { context, metrics } = options
  const user = await senderOf(context, found, { ...exchange, path: target.path })
  if (user instanceof StatusError) return user
  if (found === undefined) return noSuchPath()
  const body = takesBody(found, request) ? await options.bodies.receive(exchange) : NO_BODY
  if (body instanceof StatusError) return body
  const serve = async (): Promise<HandlerResult> =>
    serveRoute(options, found, { ...exchange, user, body })
  const isExempt = found.route.kind === 'health' || found.route.kind === 'metrics'
  return isExempt ? serve() : limitInFlight(context.inFlight, metrics, { ...exchange, user }, serve)
}

/** As whom the request acts, once authentication and authorization let it pass. */
async function senderOf(
  { identifier, authorizer, lifecycle }: HttpContext,
  found: FoundRoute | undefined,
  { request, query, path }: ParsedExchange & { readonly path: string },
): Promise<User | StatusError> {
  const identity = await identifier.identify(request, path)
  if (identity instanceof StatusError) return lifecycle.isLoaded ? identity : starting()
  const { user, needsNoPermission } = identity
  if (needsNoPermission) return user
  const method = request.method ?? 'GET'
  const action =
    found?.route.kind === 'resource'
      ? resourceAction({ ...found.route, ...found, method, query })
      : pathAction(method, decodeURIComponent(path))
  const refused = refusalOf(authorizer, user, action)
  if (refused === undefined) return user
  return lifecycle.isLoaded ? refused : starting()
}

/** Before the caches are loaded, tokens and roles are not known. */
function starting(): StatusError {
  return serviceUnavailable('the server is starting')
}

/** Whether the request has a handler that may read its body. */
function takesBody({ route }: FoundRoute, { method = 'GET' }: IncomingMessage): boolean {
  return method !== 'GET' && route.kind === 'resource' && Object.hasOwn(route.verbs, method)
}

function serveRoute(
  options: HandlerOptions,
  found: FoundRoute,
  exchange: ReceivedExchange,
): HandlerResult | Promise<HandlerResult> {
  const method = exchange.request.method ?? 'GET'
  const { route } = found
  if (route.kind !== 'resource') {
    const isRead = method === 'GET' || (method === 'HEAD' && route.kind === 'health')
    return isRead
      ? serveServerPath(options, { route, name: found.name }, exchange)
      : methodNotAllowed()
  }
  const verb = Object.hasOwn(route.verbs, method) ? route.verbs[method] : undefined
  if (verb === undefined) return methodNotAllowed()
  if (!options.context.lifecycle.isLoaded) return starting()
  return verb(options.context, apiRequest(options.context, found, { ...exchange, route }))
}

/** Answers the paths that are no resources: documents, version, health and metrics. */
function serveServerPath(
  { context, metrics, checks }: HandlerOptions,
  { route, name }: ServerRoute,
  exchange: ParsedExchange,
): HandlerResult | Promise<HandlerResult> {
  if (route.kind === 'document') return documentReply(route.document, exchange)
  if (route.kind === 'version') return versionReply(exchange.request.headers['user-agent'] ?? '')
  if (route.kind === 'openid') return openidReply(context.openid, route.document)
  if (route.kind === 'metrics') return metricsReply(metrics, context)
  const all = checks[route.endpoint]
  const chosen = name === '' ? all : all.filter((check) => check.name === name)
  return chosen.length === 0 ? noSuchPath() : healthReply(route.endpoint, chosen, exchange.query)
}

/** A found route that is no resource. */
type ServerRoute = Pick<FoundRoute, 'name'> & {
  readonly route: Exclude<Route, { kind: 'resource' }>
}

/** An exchange whose target was parsed. */
interface ParsedExchange extends Exchange {
  readonly query: URLSearchParams
}

/** An exchange whose sender is known and whose body has arrived. */
interface ReceivedExchange extends ParsedExchange {
  readonly user: User
  readonly body: Buffer
}

interface ResourceExchange extends ReceivedExchange {
  readonly route: Extract<Route, { kind: 'resource' }>
}

function apiRequest(
  { clock, limits }: HttpContext,
  found: FoundRoute,
  { request, response, query, user, body, route }: ResourceExchange,
): StreamRequest {
  return {
    method: request.method ?? 'GET',
    user,
    served: route.served,
    namespace: found.namespace,
    name: found.name,
    subresource: route.subresource,
    query,
    accept: request.headers.accept ?? '*/*',
    contentType: parseMediaType(request.headers['content-type'] ?? '').type,
    userAgent: request.headers['user-agent'] ?? '',
    body,
    deadline: new RequestDeadline({ clock, timeoutMs: limits.requestTimeout, response }),
    warn: (text) => addWarning(response, text),
    response,
  }
}

/** The first of the single headers that the request has twice, in lower case. */
function repeatedHeader(request: IncomingMessage): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index]!.toLowerCase()
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}
