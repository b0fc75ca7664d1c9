/** What an API server publishes of the tokens that it issues. */
export interface ServerFacts {
  /** `iss` of its tokens. */
  readonly issuer: string
  /** Whom tokens must be for to be accepted by it. */
  readonly audiences: readonly string[]
}
