import type { TokenIssuer } from './token-issuer.ts'

/** How a server issues the tokens that clients request for accounts. */
export interface TokenIssuance {
  readonly issuer: Pick<TokenIssuer, 'issue'>
  /** The audiences of a token whose request names none. */
  readonly audiences: readonly string[]
  /** A longer requested lifetime is shortened to this, in seconds. */
  readonly maxLifetimeSeconds: number
}

/** The shortest, the longest and the default lifetime that a token request may name, in seconds. */
export const TOKEN_LIFETIMES = { least: 600, most: 2 ** 32, usual: 3600 } as const
