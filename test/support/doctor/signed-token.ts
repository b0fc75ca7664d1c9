import type { AccountClaims } from '../../../src/auth/tokens/account-claims.ts'
import { readSigningKey } from '../../../src/auth/tokens/signing-key.ts'
import { TokenIssuer } from '../../../src/auth/tokens/token-issuer.ts'

export interface SignedTokenRequest {
  /** The signing key of the server, PEM. */
  readonly key: string
  readonly claims: AccountClaims
  /** Milliseconds by which the clock of the issuer is ahead. */
  readonly aheadMs: number
  readonly issuer?: string
}

/** A token signed with the key of a server, valid for an hour. */
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
