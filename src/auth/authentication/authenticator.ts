import type { CertificateSubject } from '../../lib/tls/peer-subject.ts'
import type { User } from '../user.ts'

/** What a request proves its sender with. */
export interface Credentials {
  /** Of `Authorization: Bearer`. */
  readonly bearerToken?: string
  /** Of the client certificate, which the TLS layer has verified. */
  readonly certificate?: CertificateSubject
}

/** `rejected`: why, for the server's log, never for the client. */
export type Authentication = { readonly user: User } | { readonly rejected: string }

/** One way to find out who sends a request. */
export interface Authenticator {
  /** Undefined: these are not credentials of this kind; another authenticator may know them. */
  authenticate(credentials: Credentials): Promise<Authentication | undefined>
}
