import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Credentials } from '../../auth/authentication/authenticator.ts'
import { subjectOfPeer } from '../../lib/tls/peer-subject.ts'
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
