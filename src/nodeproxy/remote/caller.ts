import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { subjectOfPeer } from '../../lib/tls/peer-subject.ts'

/** Who sends a request, with the fields of TokenReview and SubjectAccessReview. */
export interface Caller {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What a request proves its sender with; undefined: it has no credentials. */
export type Credentials = { readonly caller: Caller } | { readonly token: string } | undefined

/** RFC 6750; the name of the scheme is written in any case. */
const BEARER = /^bearer +([\x21-\x7e]+)$/i

/**
 * A client certificate that an authority of this listener signed names the user and its groups; otherwise the bearer
 * token counts. `now`: milliseconds since 1970.
 */
export function credentialsOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  now: number,
): Credentials {
  const subject = socket instanceof TLSSocket ? subjectOfPeer(socket, now) : undefined
  const [username = '', ...others] = subject?.commonNames ?? []
  if (username !== '' && others.length === 0) {
    const groups = [...new Set([...(subject?.organizations ?? []), 'system:authenticated'])]
    return { caller: { username, uid: '', groups, extra: {} } }
  }
  const token = BEARER.exec(headers.authorization ?? '')?.[1]
  return token === undefined ? undefined : { token }
}
