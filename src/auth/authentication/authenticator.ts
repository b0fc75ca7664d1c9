import type { CertificateSubject } from '../../lib/tls/peer-subject.ts'
import type { User } from '../user.ts'

/** What a request offers to prove who sent it. */
export interface Credentials {
  /** The token of the header `Authorization: Bearer`. */
  readonly bearerToken?: string
  /** The subject of the client certificate, which the TLS layer has verified. */
  readonly certificate?: CertificateSubject
}

/** `rejected`: the reason, for the server's log and never for the client. */
export type Authentication = { readonly user: User } | { readonly rejected: string }

/** One way to find out who sends a request. */
export interface Authenticator {
  /** Undefined: these are not credentials of this kind; another authenticator may know them. */
  authenticate(credentials: Credentials): Promise<Authentication | undefined>
}

/**
 * Tries one authenticator after the other; the first that knows the credentials decides. A client
 * certificate that is accepted wins over a token.
 */
export class AuthenticatorChain implements Authenticator {
  readonly #authenticators: readonly Authenticator[]

  constructor(authenticators: readonly Authenticator[]) {
    this.#authenticators = authenticators
  }

  async authenticate(credentials: Credentials): Promise<Authentication | undefined> {
    for (const authenticator of this.#authenticators) {
      const found = await authenticator.authenticate(credentials)
      if (found !== undefined) return found
    }
    return undefined
  }
}
