import { SignJWT } from 'jose'
import type { Clock } from '../../lib/clock.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type AccountClaims, accountPayload } from './account-claims.ts'
import type { SigningKey } from './signing-key.ts'

interface TokenRequest {
  readonly claims: AccountClaims
  /** At least one; the API server accepts a token that names one of its own audiences. */
  readonly audiences: readonly string[]
  readonly lifetimeSeconds: number
}

interface IssuedToken {
  readonly token: string
  /** The claim `jti`: identifies the token in audit logs, which never contain the token itself. */
  readonly id: string
  readonly expiresAt: Date
}

interface TokenIssuerOptions {
  /** `iss` of every token: a URL below which discovery documents are served. */
  readonly issuer: string
  readonly key: SigningKey
  readonly clock: Clock
  readonly newId: () => string
}

/** Signs tokens for accounts: JSON Web Tokens (RFC 7519) with the claims of Kubernetes. */
export class TokenIssuer {
  readonly #options: TokenIssuerOptions

  constructor(options: TokenIssuerOptions) {
    this.#options = options
  }

  async issue({ claims, audiences, lifetimeSeconds }: TokenRequest): Promise<IssuedToken> {
    const { issuer, key, clock, newId } = this.#options
    const id = newId()
    const now = Math.floor(clock.now() / 1000)
    const expires = now + lifetimeSeconds
    const payload = { iss: issuer, aud: [...audiences], iat: now, nbf: now, exp: expires, jti: id }
    const token = await sign({ ...payload, ...accountPayload(claims) }, key)
    return { token, id, expiresAt: new Date(expires * 1000) }
  }
}

/** A token with exactly these claims. */
export function sign(payload: JsonObject, key: SigningKey): Promise<string> {
  return new SignJWT(payload)
    .setProtectedHeader({ alg: key.algorithm, kid: key.id })
    .sign(key.privateKey)
}

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
