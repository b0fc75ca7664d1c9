import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Action } from '../../auth/action.ts'
import type { Authenticator, Credentials } from '../../auth/authentication/authenticator.ts'
import {
  impersonatedUser,
  impersonationActions,
  readImpersonation,
} from '../../auth/impersonation.ts'
import { ANONYMOUS, MASTERS, UNAUTHENTICATED, UNSECURED, type User } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import { subjectOfPeer } from '../../lib/tls/peer-subject.ts'
import { badRequest, StatusError } from '../status/status.ts'

/** A bearer token (RFC 6750); the name of the scheme is case-insensitive. */
const BEARER = /^bearer +(\S+)$/i

/** The credentials that were sent last over each connection. */
const LAST = new WeakMap<Socket, SentCredentials>()

/**
 * The number of rejections that are answered without delay, for example to clients whose tokens expired at the
 * same time.
 */
const BURST = 200
/** The number of rejections that are answered per second once there are more. */
const PER_SECOND = 500
/** The longest delay of a rejection; shorter than the timeouts of clients. */
const MAX_WAIT_MS = 10_000

/** The user that a request acts as, and who sends it. */
export interface RequestIdentity {
  /** The user that the request acts as. */
  readonly user: User
  /** The sender, if it impersonates `user`. */
  readonly impersonator?: User
  /** Set if the path is open to every client, so that roles are not checked. */
  readonly needsNoPermission?: true
}

/** The answer to a request that is refused during authentication. */
export interface RefusedIdentity {
  readonly refused: StatusError
  /** The user whose credentials were accepted, if only the impersonation was refused. */
  readonly sender: User | undefined
}

/**
 * Finds out who sends a request. Refuses it with 400 if its headers are not understood, with 401 if credentials are
 * missing or rejected, and with 403 if the impersonation is forbidden.
 */
export interface Identifier {
  /** `path` is undefined for a request for a resource, which always needs credentials. */
  identify(
    request: IncomingMessage,
    path: string | undefined,
  ): Promise<RequestIdentity | RefusedIdentity>
}

export interface IdentifierOptions {
  readonly authenticator: Authenticator
  readonly clock: Pick<Clock, 'now' | 'after'>
  /** The paths that need no credentials, including the paths below them; resources always need credentials. */
  readonly anonymousPaths: readonly string[]
  /** Returns undefined if the user may do this, else the answer to the request. */
  readonly check: (user: User, action: Action) => StatusError | undefined
  /** Receives why credentials were rejected; the client does not learn it. */
  readonly onRejected: (reason: string) => void
}

const ANONYMOUS_SENDER: RequestIdentity = {
  user: { name: ANONYMOUS, groups: [UNAUTHENTICATED] },
  needsNoPermission: true,
}

/** The identifier of a server without users, which only its own machine can reach. */
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

/**
 * Delays the answers to rejected requests once there are many. Otherwise a client that sends bad credentials as
 * fast as it gets answers could starve others. Rejections are not counted by client, because an attacker may
 * have many addresses.
 */
export class RejectionPace {
  readonly #clock: Pick<Clock, 'now' | 'after'>
  /** When the latest rejection would be answered if there were no allowance for bursts, in milliseconds since 1970. */
  #due = 0

  constructor(clock: Pick<Clock, 'now' | 'after'>) {
    this.#clock = clock
  }

  /** Resolves when a rejection may be answered. */
  wait(): Promise<void> {
    const now = this.#clock.now()
    const step = 1000 / PER_SECOND
    this.#due = Math.min(Math.max(this.#due + step, now), now + BURST * step + MAX_WAIT_MS)
    const wait = this.#due - now - BURST * step
    if (wait <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#clock.after(wait, resolve)
    })
  }
}

/**
 * The credentials of a request; 400 for an Authorization header that is not understood. A connection that sends
 * the same credentials again gets the same object, which authenticators use as a cache key. `now`: milliseconds
 * since 1970.
 */
export function credentialsOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  now: number,
): Credentials | StatusError {
  const certificate = socket instanceof TLSSocket ? subjectOfPeer(socket, now) : undefined
  const { authorization } = headers
  const last = LAST.get(socket)
  if (
    last !== undefined &&
    last.authorization === authorization &&
    last.credentials.certificate === certificate
  ) {
    return last.credentials
  }
  const bearerToken = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
  if (authorization !== undefined && bearerToken === undefined) {
    return badRequest('the header Authorization must be "Bearer <token>"')
  }
  const credentials = {
    ...(bearerToken !== undefined && { bearerToken }),
    ...(certificate !== undefined && { certificate }),
  }
  LAST.set(socket, { authorization, credentials })
  return credentials
}

interface SentCredentials {
  readonly authorization: string | undefined
  readonly credentials: Credentials
}
