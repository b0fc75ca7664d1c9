import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { CertificateSubject, Credentials } from '../../auth/authentication/authenticator.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** RFC 6750; the name of the scheme is written in any case. */
const BEARER = /^bearer +(\S+)$/i

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

/** What was sent last over a connection. */
const LAST = new WeakMap<Socket, SentCredentials>()

interface SentCredentials {
  readonly authorization: string | undefined
  readonly credentials: Credentials
}

/**
 * The subject of a client certificate that one of our authorities signed; undefined: there is none.
 * TLS looks at its end once, when the first connection of a session begins: a session that is kept, or
 * resumed, outlasts the certificate.
 */
function subjectOfPeer(socket: TLSSocket, now: number): CertificateSubject | undefined {
  // A request that had arrived with a connection that was ended has no user.
  if (!socket.authorized || socket.destroyed) return undefined
  const shown = SHOWN.get(socket) ?? certificateOfPeer(socket)
  SHOWN.set(socket, shown)
  return shown.end > now ? shown.subject : undefined
}

interface ShownCertificate {
  readonly subject: CertificateSubject
  /** Milliseconds since 1970; NaN: the client showed none. */
  readonly end: number
}

/** A connection shows one certificate for all its requests. */
const SHOWN = new WeakMap<TLSSocket, ShownCertificate>()

function certificateOfPeer(socket: TLSSocket): ShownCertificate {
  // Null once the connection was ended.
  const shown = socket.getPeerCertificate() as PeerCertificate | null
  const { subject = {}, valid_to: end = '' } = shown ?? {}
  const { CN, O } = subject
  return {
    subject: { commonNames: texts(CN), organizations: texts(O) },
    end: Date.parse(end),
  }
}

/** Empty where the client showed none. */
interface PeerCertificate {
  readonly subject?: Subject
  /** Such as `Nov 23 06:10:51 2026 GMT`. */
  readonly valid_to?: string
}

/** Node returns a part that occurs several times as a list. */
interface Subject {
  readonly CN?: string | readonly string[]
  readonly O?: string | readonly string[]
}

function texts(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}
