import type { IncomingMessage } from 'node:http'
import { type Action, isPathAction } from '../../auth/action.ts'
import type { User } from '../../auth/user.ts'
import { pathAction, resourceAction } from '../authorization/request-action.ts'
import type { FoundRoute } from '../routing/routes.ts'
import { notPermitted } from '../status/not-permitted.ts'
import type { StatusError } from '../status/status.ts'
import { serviceUnavailable } from '../status/status-errors.ts'
import type { HttpContext } from './http-context.ts'
import type { RequestTarget } from './request-target.ts'

/** What authentication and authorization found out about a request. */
export interface Access {
  readonly action: Action
  /** Who sends it; undefined: no credentials were accepted. */
  readonly sender: User | undefined
  /** As whom it acts; only the sender itself where `refused` is set. */
  readonly user: User
  /** What authorization decided; undefined: it came to no decision. */
  readonly decision: { readonly isAllowed: boolean; readonly reason: string } | undefined
  /** The answer to a request that may not go on; undefined: it may. */
  readonly refused: StatusError | undefined
}

/** What a request is for. */
interface RoutedTarget extends Pick<RequestTarget, 'path' | 'query'> {
  /** Undefined: the path is none of an API. */
  readonly found: FoundRoute | undefined
}

/** No credentials were accepted, so nothing is done for this user. */
const NO_USER: User = { name: '', groups: [] }

/** Authenticates the sender of a request and decides whether it may do what the request does. */
export async function checkAccess(
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
    // The only permission that is checked so early is that to impersonate.
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

/** 503 for what needs the caches before they are loaded. */
export function starting(): StatusError {
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
