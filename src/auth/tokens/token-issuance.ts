import type { TokenIssuer } from './token-issuer.ts'

/** How a server issues the tokens that clients request for accounts. */
export interface TokenIssuance {
  readonly issuer: Pick<TokenIssuer, 'issue'>
  /** Those of a token that is requested for none. */
  readonly audiences: readonly string[]
  /** A longer life is shortened to this one, in seconds. */
  readonly maxLifetimeSeconds: number
}

/** The shortest and the longest life that a token may be requested with, in seconds. */
export const TOKEN_LIFETIMES = { least: 600, most: 2 ** 32, usual: 3600 } as const
