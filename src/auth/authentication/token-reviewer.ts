import type { AccountAuthentication, AccountAuthenticator } from './account-authenticator.ts'
import type { Authenticator } from './authenticator.ts'

export interface TokenReviewerOptions {
  readonly accounts: Pick<AccountAuthenticator, 'review'>
  /** Authenticators of users that are managed elsewhere; their tokens are for this server alone. */
  readonly others: readonly Authenticator[]
  /** The audiences of this server: a token must name one of them. */
  readonly audiences: readonly string[]
}

/** Tells another server whose token it received. */
export interface TokenReviews {
  /** Authenticates a token for at least one of the audiences; empty: for those of this server. */
  review(token: string, audiences: readonly string[]): Promise<AccountAuthentication>
}

/** Token reviews of a server without users. */
export const noTokenReviews: TokenReviews = {
  review: () => Promise.resolve({ rejected: 'the server knows no users' }),
}

/** Reviews tokens with the same authenticators that authenticate requests. */
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
