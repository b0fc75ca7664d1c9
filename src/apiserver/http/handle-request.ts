import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Action, isPathAction } from '../../auth/action.ts'
import type { User } from '../../auth/user.ts'
import { NOT_AUDITED } from '../audit/audit-log.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import { openidReply } from '../authentication/openid-documents.ts'
import { versionReply } from '../discovery/version.ts'
import { parseMediaType } from '../encoding/media-type.ts'
import { limitInFlight } from '../flow-control/limit-in-flight.ts'
import { type HealthCheck, type HealthEndpoint, healthReply } from '../health/health-checks.ts'
import { metricsReply, type ServerMetrics } from '../metrics/server-metrics.ts'
import { documentReply } from '../negotiation/served-document.ts'
import {
  type Exchange,
  type FileHandler,
  type HandlerResult,
  STREAMING,
  type StreamRequest,
  type Upgrade,
  type WaitForOthers,
  waitWithoutSlot,
} from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'
import { pathAction, resourceAction } from '../request/request-action.ts'
import { RequestDeadline } from '../request/request-deadline.ts'
import { notPermitted } from '../status/not-permitted.ts'
import {
  badRequest,
  internalError,
  methodNotAllowed,
  noSuchPath,
  StatusError,
  serviceUnavailable,
} from '../status/status.ts'
import { storeStatusError } from '../status/store-failure.ts'
import type { HttpContext } from './create-http-context.ts'
import type { RequestBodies } from './request-bodies.ts'
import { parseRequestTarget, type RequestTarget } from './request-target.ts'
import type { FoundRoute, Route } from './routes.ts'
import { type SendOptions, send, sendStatusError } from './send.ts'

/** Stands for the user of a request without accepted credentials; nothing is done for it. */
const NO_USER: User = { name: '', groups: [] }

/**
 * The limit of bytes of all warnings in one answer, as in kube-apiserver, because clients limit the size of
 * headers.
 */
const MAX_WARNING_BYTES = 4096

const UNPRINTABLE = /[^\x20-\x7e]/gu

export interface HandlerOptions extends SendOptions {
  readonly context: HttpContext
  /** The route of a path, whatever the method; undefined: 404. */
  readonly route: (path: string) => FoundRoute | undefined
  readonly metrics: ServerMetrics
  readonly bodies: RequestBodies
  /** Answers requests for files outside of the API; undefined: there are none. */
  readonly files: FileHandler | undefined
  /** The health checks of each endpoint. */
  readonly checks: Readonly<Record<HealthEndpoint, readonly HealthCheck[]>>
}

const NO_BODY = Buffer.alloc(0)

/** Headers that must not be repeated (400), because two parsers could use different ones. */
const SINGLE_HEADERS = new Set(['content-type', 'host', 'authorization'])

/** Answers one request. Never throws: an exception is passed to `onError` and answered as a Status. */
export async function handleRequest(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  upgrade?: Upgrade,
): Promise<void> {
  const exchange = { request, response, upgrade }
  let record = NOT_AUDITED
  try {
    const begun = await begin(options, exchange)
    record = begun.record
    if (record.auditId !== undefined) response.setHeader('Audit-Id', record.auditId)
    const result = record.respond(await resultOf(options, begun), response)
    if (result === STREAMING) return
    if (result instanceof StatusError) sendStatusError(options, exchange, result)
    else send(options, exchange, result)
  } catch (error) {
    options.onError(error)
    const failure = storeStatusError(error)
    if (failure === undefined) record.panic()
    else record.respond(failure, response)
    if (response.headersSent) response.destroy()
    else sendStatusError(options, exchange, failure ?? internalError())
  }
}

/** A request whose sender and action are known. */
interface BegunRequest extends ParsedExchange {
  readonly found: FoundRoute | undefined
  readonly user: User
  /** The refusal, if the request is already refused. */
  readonly refused: StatusError | undefined
  readonly record: AuditRecord
}

/** Checks target, headers, sender and permission, and begins the record in the audit log. */
async function begin(options: HandlerOptions, exchange: Exchange): Promise<BegunRequest> {
  const { context } = options
  const { request } = exchange
  const target = parseRequestTarget(request.url ?? '')
  const repeated = repeatedHeader(request)
  const fault =
    repeated === undefined ? undefined : badRequest(`the header ${repeated} must not be repeated`)
  if (target instanceof StatusError || fault !== undefined) {
    const action = pathAction(request.method ?? 'GET', request.url ?? '')
    const record = context.audit.begin({ request, action, served: undefined, user: undefined })
    const refused = target instanceof StatusError ? target : fault
    return { ...exchange, ...NOTHING_KNOWN, refused, record }
  }
  const found = options.route(target.path)
  countRequest(options.metrics, { ...exchange, query: target.query }, found)
  const access = await checkAccess(context, request, { ...target, found })
  const { action, sender, user, decision, refused } = access
  const record = context.audit.begin({
    request,
    action,
    user: sender,
    served: found?.route.kind === 'resource' ? found.route.served : undefined,
    ...(sender !== user && sender !== undefined && { impersonated: user }),
  })
  if (decision !== undefined) {
    record.authorized(decision.isAllowed ? 'allow' : 'forbid', decision.reason)
  }
  const { query, search } = target
  return { ...exchange, query, search, found, user, refused, record }
}

const NOTHING_KNOWN = {
  found: undefined,
  user: NO_USER,
  query: new URLSearchParams(),
  search: '',
}

/** Receives the body, takes a concurrency slot and calls the handler of the route. */
async function resultOf(options: HandlerOptions, begun: BegunRequest): Promise<HandlerResult> {
  const { found, user, refused, record, ...exchange } = begun
  if (refused !== undefined) return refused
  if (found === undefined) return noSuchPath()
  const { context, metrics, bodies } = options
  const { request } = exchange
  const hasBody = exchange.upgrade === undefined && takesBody(found, request)
  const body = hasBody ? await bodies.receive(exchange) : NO_BODY
  if (body instanceof StatusError) return body
  record.received(body, request.headers['content-type'] ?? '')
  const serve = async (waitForOthers: WaitForOthers): Promise<HandlerResult> =>
    serveRoute(options, found, { ...exchange, user, body, waitForOthers })
  const isExempt = found.route.kind === 'health' || found.route.kind === 'metrics'
  return isExempt
    ? serve(waitWithoutSlot)
    : limitInFlight(context.inFlight, metrics, { ...exchange, user }, serve)
}

/** Whether the request has a handler that may read its body. */
function takesBody({ route }: FoundRoute, { method = 'GET' }: IncomingMessage): boolean {
  return (
    method !== 'GET' &&
    method !== 'HEAD' &&
    route.kind === 'resource' &&
    Object.hasOwn(route.verbs, method)
  )
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

/** Answers the paths of no resource: documents, version, health and metrics. */
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

/** A found route that is not of a resource. */
type ServerRoute = Pick<FoundRoute, 'name'> & {
  readonly route: Exclude<Route, { kind: 'resource' }>
}

/** An exchange whose target was parsed. */
interface ParsedExchange extends Exchange, Pick<RequestTarget, 'query' | 'search'> {}

/** An exchange whose sender is known and whose body has arrived. */
interface ReceivedExchange extends ParsedExchange {
  readonly user: User
  readonly body: Buffer
  readonly waitForOthers: WaitForOthers
}

interface ResourceExchange extends ReceivedExchange {
  readonly route: Extract<Route, { kind: 'resource' }>
}

function apiRequest(
  { clock, limits }: HttpContext,
  found: FoundRoute,
  { request, response, upgrade, query, search, user, body, route, waitForOthers }: ResourceExchange,
): StreamRequest {
  return {
    method: request.method ?? 'GET',
    user,
    served: route.served,
    namespace: found.namespace,
    name: found.name,
    subresource: route.subresource,
    query,
    search,
    accept: request.headers.accept ?? '*/*',
    contentType: parseMediaType(request.headers['content-type'] ?? '').type,
    userAgent: request.headers['user-agent'] ?? '',
    body,
    deadline: new RequestDeadline({ clock, timeoutMs: limits.requestTimeout, response }),
    waitForOthers,
    warn: (text) => addWarning(response, text),
    response,
    upgrade,
    headers: request.headers,
    forwarded: found.forwarded,
  }
}

/** The first of SINGLE_HEADERS that the request repeats, in lower case. */
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

/**
 * Adds a `Warning` header with code 299, which kubectl and client-go show to their users. A text is left out if
 * the answer already has it, or if all warnings together would exceed 4096 bytes. Characters other than
 * printable ASCII become `?`.
 */
export function addWarning(response: ServerResponse, text: string): void {
  const safe = text.replaceAll(UNPRINTABLE, '?').replaceAll(/["\\]/g, '\\$&')
  const warning = `299 - "${safe}"`
  const present = [response.getHeader('Warning') ?? []].flat().map(String)
  if (present.includes(warning)) return
  if ([...present, warning].join('').length > MAX_WARNING_BYTES) return
  response.setHeader('Warning', [...present, warning])
}

/** The result of authentication and authorization. */
interface Access {
  readonly action: Action
  /** The sender; undefined: no credentials were accepted. */
  readonly sender: User | undefined
  /** The user that the request acts as; if `refused` is set, the sender. */
  readonly user: User
  /** The decision of authorization; undefined: there was none. */
  readonly decision: { readonly isAllowed: boolean; readonly reason: string } | undefined
  /** The answer to a refused request; undefined: it is permitted. */
  readonly refused: StatusError | undefined
}

/** The target of a request and its route. */
interface RoutedTarget extends Pick<RequestTarget, 'path' | 'query'> {
  /** Undefined: no route has this path. */
  readonly found: FoundRoute | undefined
}

/** Authenticates the sender of a request, and decides whether the action is permitted. */
async function checkAccess(
  { identifier, authorizer, lifecycle }: HttpContext,
  request: IncomingMessage,
  { path, query, found }: RoutedTarget,
): Promise<Access> {
  const action = actionOf(request.method ?? 'GET', { path, query, found })
  const identity = await identifier.identify(request, isPathAction(action) ? path : undefined)
  // Before the caches are loaded, tokens and roles are not known.
  const orStarting = (refused: StatusError) => (lifecycle.isLoaded ? refused : starting())
  if ('refused' in identity) {
    const { refused, sender } = identity
    const { code, message } = refused.status
    // The only permission that authentication checks is the one to impersonate.
    const decision = code === 403 ? { isAllowed: false, reason: message } : undefined
    const common = { action, sender, user: sender ?? NO_USER, decision }
    return { ...common, refused: orStarting(refused) }
  }
  const { user, impersonator: sender = user } = identity
  if (identity.needsNoPermission) {
    return { action, sender, user, decision: undefined, refused: undefined }
  }
  const decision = authorizer.authorize(user, action)
  const refused = decision.isAllowed ? undefined : notPermitted(user, action, decision.reason)
  return { action, sender, user, decision, refused: refused && orStarting(refused) }
}

/** 503 for requests that need the caches before those are loaded. */
function starting(): StatusError {
  return serviceUnavailable('the server is starting')
}

function actionOf(method: string, { path, query, found }: RoutedTarget): Action {
  if (found === undefined) return pathAction(method, decodeURIComponent(path))
  if (found.route.kind !== 'resource') return pathAction(method, servedPath(path))
  const { verbs } = found.route
  const asGet = method === 'HEAD' && Object.hasOwn(verbs, method)
  return resourceAction({ ...found.route, ...found, method: asGet ? 'GET' : method, query })
}

/** The path as the route table reads it: decoded, and without a slash at the end, which it ignores. */
function servedPath(path: string): string {
  const decoded = decodeURIComponent(path)
  return decoded === '/' ? decoded : decoded.replace(/\/$/u, '')
}

/** The methods that have their own label; all others share one. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Counts a request when its answer has ended or its client has disconnected. */
function countRequest(
  metrics: ServerMetrics,
  exchange: Exchange & { readonly query: URLSearchParams },
  found: FoundRoute | undefined,
): void {
  const { request, response, query } = exchange
  const start = performance.now()
  const method = request.method ?? 'GET'
  const labels = { verb: METHODS.has(method) ? method : 'other', ...resourceLabels(found) }
  if (found?.route.kind === 'resource') labels.verb = verbOf(labels.verb, found, query)
  response.once('close', () => {
    metrics.requests.inc({ ...labels, code: response.statusCode })
    if (labels.verb === 'WATCH') return
    metrics.requestDuration.observe(labels, (performance.now() - start) / 1000)
  })
}

function resourceLabels(found: FoundRoute | undefined) {
  if (found?.route.kind !== 'resource')
    return { group: '', version: '', resource: '', subresource: '' }
  const { served, subresource } = found.route
  return {
    group: served.group,
    version: served.version,
    resource: served.resource.plural,
    subresource,
  }
}

function verbOf(method: string, { name, route }: FoundRoute, query: URLSearchParams): string {
  if (route.kind === 'resource' && route.isWatch && method === 'GET') return 'WATCH'
  if (name !== '') return method
  if (method === 'GET') return parseFlag(query, 'watch') ? 'WATCH' : 'LIST'
  return method === 'DELETE' ? 'DELETECOLLECTION' : method
}
