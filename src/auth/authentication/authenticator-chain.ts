import type { Authentication, Authenticator, Credentials } from './authenticator.ts'

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
