import type { AccountAuthentication, AccountAuthenticator } from './account-authenticator.ts'
import type { Authenticator } from './authenticator.ts'

export interface TokenReviewerOptions {
  readonly accounts: Pick<AccountAuthenticator, 'review'>
  /** Of users that are managed elsewhere; their tokens are for this server alone. */
  readonly others: readonly Authenticator[]
  /** What a token must be for, to be accepted by this server. */
  readonly audiences: readonly string[]
}

/** Finds out for another server whose token it received. */
export interface TokenReviews {
  /** For one of some audiences; none: for those of this server. */
  review(token: string, audiences: readonly string[]): Promise<AccountAuthentication>
}

/** Of a server without users. */
export const noTokenReviews: TokenReviews = {
  review: () => Promise.resolve({ rejected: 'the server knows no users' }),
}

/** Reviews tokens by the same authenticators that requests are authenticated with. */
export class TokenReviewer implements TokenReviews {
  readonly #options: TokenReviewerOptions

  constructor(options: TokenReviewerOptions) {
    this.#options = options
  }

  async review(token: string, audiences: readonly string[]): Promise<AccountAuthentication> {
    const own = this.#options.audiences
    const wanted = audiences.length === 0 ? own : audiences
    const account = await this.#options.accounts.review(token, wanted)
    if (account !== undefined) return account
    const shared = wanted.filter((audience) => own.includes(audience))
    if (shared.length === 0) return { rejected: 'it is for another audience' }
    for (const authenticator of this.#options.others) {
      const found = await authenticator.authenticate({ bearerToken: token })
      if (found === undefined) continue
      return 'rejected' in found ? found : { user: found.user, audiences: shared }
    }
    return { rejected: 'no authenticator knows it' }
  }
}
