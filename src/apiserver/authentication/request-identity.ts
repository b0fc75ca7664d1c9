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
import { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** RFC 6750; the name of the scheme is written in any case. */
const BEARER = /^bearer +(\S+)$/i

/** What was sent last over a connection. */
const LAST = new WeakMap<Socket, SentCredentials>()

/** Rejections that are answered at once, such as those of clients whose tokens expired together. */
const BURST = 200
const PER_SECOND = 500
/** Shorter than clients wait for an answer. */
const MAX_WAIT_MS = 10_000

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

/**
 * Delays the answers to requests whose credentials are rejected, once there are many: a client that sends bad
 * ones as fast as it gets answers would otherwise keep the server from others. Nothing is counted by client:
 * who floods has many addresses.
 */
export class RejectionPace {
  readonly #clock: Pick<Clock, 'now' | 'after'>
  /** When the answer to the latest rejection is due, without the burst; milliseconds since 1970. */
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
 * What a request proves its sender with; 400 for an Authorization header that is not understood.
 * A connection that proves the same again gets the same object, by which others remember what they know of it.
 * `now`: milliseconds since 1970.
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
