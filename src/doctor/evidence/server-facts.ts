/** What an API server publishes of the tokens that it issues. */
export interface ServerFacts {
  /** `iss` of its tokens. */
  readonly issuer: string
  /** Audiences whose tokens it accepts, as far as they are known: it publishes its issuer alone. */
  readonly audiences: readonly string[]
  /** Audiences whose tokens it was seen to reject. */
  readonly rejectedAudiences?: readonly string[]
}
