import type { IncomingMessage } from 'node:http'
import type { Action } from '../../auth/action.ts'
import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import { impersonatedUser, impersonationActions } from '../../auth/impersonation/impersonation.ts'
import { readImpersonation } from '../../auth/impersonation/impersonation-headers.ts'
import { ANONYMOUS, MASTERS, UNAUTHENTICATED, UNSECURED, type User } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'
import { RejectionPace } from './rejection-pace.ts'
import { credentialsOf } from './request-credentials.ts'

/** Who sends a request, and as whom it acts. */
export interface RequestIdentity {
  /** As whom the request acts. */
  readonly user: User
  /** Who sends it, where that is another user that the sender impersonates. */
  readonly impersonator?: User
  /** The path is open to every client, whatever the roles. */
  readonly needsNoPermission?: true
}

/** A request that cannot be that of any user, and its answer. */
export interface RefusedIdentity {
  readonly refused: StatusError
  /** Whose credentials were accepted, where the impersonation was not. */
  readonly sender: User | undefined
}

/** Finds out who sends a request; 401 without acceptable credentials, 403 for a forbidden impersonation. */
export interface Identifier {
  /** `path`: what the request is about; undefined: a resource, which no one reaches without credentials. */
  identify(
    request: IncomingMessage,
    path: string | undefined,
  ): Promise<RequestIdentity | RefusedIdentity>
}

export interface IdentifierOptions {
  readonly authenticator: Authenticator
  readonly clock: Pick<Clock, 'now' | 'after'>
  /** The paths that need no credentials, exactly or with a part after a slash; resources always do. */
  readonly anonymousPaths: readonly string[]
  /** Undefined: the user may do it; else the answer to the request. */
  readonly check: (user: User, action: Action) => StatusError | undefined
  /** Receives why credentials were rejected; the client does not learn it. */
  readonly onRejected: (reason: string) => void
}

const ANONYMOUS_SENDER: RequestIdentity = {
  user: { name: ANONYMOUS, groups: [UNAUTHENTICATED] },
  needsNoPermission: true,
}

/** Of a server without users, which only its own machine can reach. */
export const everySenderIsMaster: Identifier = {
  identify: () => Promise.resolve({ user: { name: UNSECURED, groups: [MASTERS] } }),
}

export function createIdentifier(options: IdentifierOptions): Identifier {
  const pace = new RejectionPace(options.clock)
  return {
    async identify(request, path) {
      const found = await identify(options, request, path)
      if ('refused' in found && found.sender === undefined) await pace.wait()
      return found
    },
  }
}

async function identify(
  { authenticator, clock, anonymousPaths, check, onRejected }: IdentifierOptions,
  request: IncomingMessage,
  path: string | undefined,
): Promise<RequestIdentity | RefusedIdentity> {
  const credentials = credentialsOf(request, clock.now())
  if (credentials instanceof StatusError) return { refused: credentials, sender: undefined }
  const found = await authenticator.authenticate(credentials)
  if (found !== undefined && 'rejected' in found) {
    onRejected(found.rejected)
    return unauthorized()
  }
  if (found === undefined && credentials.bearerToken !== undefined) {
    onRejected('no authenticator knows the token')
    return unauthorized()
  }
  if (found === undefined) return isOpen(path, anonymousPaths) ? ANONYMOUS_SENDER : unauthorized()
  return impersonated(found.user, request.rawHeaders, check)
}

function impersonated(
  user: User,
  rawHeaders: readonly string[],
  check: IdentifierOptions['check'],
): RequestIdentity | RefusedIdentity {
  const impersonation = readImpersonation(rawHeaders)
  if (impersonation === undefined) return { user }
  if ('fault' in impersonation) return { refused: badRequest(impersonation.fault), sender: user }
  for (const action of impersonationActions(impersonation)) {
    const refused = check(user, action)
    if (refused !== undefined) return { refused, sender: user }
  }
  return { user: impersonatedUser(impersonation), impersonator: user }
}

function isOpen(path: string | undefined, open: readonly string[]): boolean {
  if (path === undefined) return false
  return open.some((one) => path === one || path.startsWith(`${one}/`))
}

function unauthorized(): RefusedIdentity {
  const status = { code: 401, reason: 'Unauthorized', message: 'Unauthorized' }
  return { refused: new StatusError(status), sender: undefined }
}
