import type { AccountClaims } from '../../../src/auth/tokens/account-claims.ts'
import { readSigningKey } from '../../../src/auth/tokens/signing-key.ts'
import { TokenIssuer } from '../../../src/auth/tokens/token-issuer.ts'

export interface SignedTokenRequest {
  /** Of the server, in PEM. */
  readonly key: string
  readonly claims: AccountClaims
  /** By so much the clock of the issuer is ahead. */
  readonly aheadMs: number
  readonly issuer?: string
}

/** A token with the key of a server, for an hour. */
export async function signedToken({
  key,
  claims,
  aheadMs,
  issuer = 'https://orch.default.svc',
}: SignedTokenRequest): Promise<string> {
  const clock = { now: () => Date.now() + aheadMs } as never
  const signingKey = readSigningKey(key, 'the key of the server')
  const tokens = new TokenIssuer({ issuer, key: signingKey, clock, newId: () => 'test' })
  const request = { claims, audiences: [issuer], lifetimeSeconds: 3_600 }
  return (await tokens.issue(request)).token
}
