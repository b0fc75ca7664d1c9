import type { TLSSocket } from 'node:tls'

/** The subject of an X.509 certificate. */
export interface CertificateSubject {
  /** Common names: the user. */
  readonly commonNames: readonly string[]
  /** Organizations: the groups of the user. */
  readonly organizations: readonly string[]
}

/**
 * The subject of a client certificate that one of our authorities signed; undefined if the client presented no such
 * certificate. TLS checks the end of a certificate only when the first connection of a session begins. A session that
 * stays open or is resumed may outlast the certificate, so its end is checked at each call.
 */
export function subjectOfPeer(socket: TLSSocket, now: number): CertificateSubject | undefined {
  // A request on a connection that has been ended in the meantime has no user.
  if (!socket.authorized || socket.destroyed) return undefined
  const shown = SHOWN.get(socket) ?? certificateOfPeer(socket)
  SHOWN.set(socket, shown)
  return shown.end > now ? shown.subject : undefined
}

interface ShownCertificate {
  readonly subject: CertificateSubject
  /** Milliseconds since 1970; NaN if the client presented no certificate. */
  readonly end: number
}

/** A connection has one certificate for all its requests. */
const SHOWN = new WeakMap<TLSSocket, ShownCertificate>()

function certificateOfPeer(socket: TLSSocket): ShownCertificate {
  // Null if the connection has ended.
  const shown = socket.getPeerCertificate() as PeerCertificate | null
  const { subject = {}, valid_to: end = '' } = shown ?? {}
  const { CN, O } = subject
  return {
    subject: { commonNames: texts(CN), organizations: texts(O) },
    end: Date.parse(end),
  }
}

/** Empty if the client presented no certificate. */
interface PeerCertificate {
  readonly subject?: Subject
  /** Such as `Nov 23 06:10:51 2026 GMT`. */
  readonly valid_to?: string
}

/** Node returns an attribute that occurs several times as a list. */
interface Subject {
  readonly CN?: string | readonly string[]
  readonly O?: string | readonly string[]
}

function texts(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}
