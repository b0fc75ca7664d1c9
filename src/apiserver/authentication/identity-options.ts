import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import type { VerificationKey } from '../../auth/tokens/signing-key.ts'
import type { TokenIssuance } from '../../auth/tokens/token-issuance.ts'

/** How a server knows its users. */
export interface IdentityOptions {
  /** `iss` of the tokens of accounts. The first one signs; others were used before. */
  readonly issuers: readonly string[]
  /** What a token must be for, to be accepted here. */
  readonly audiences: readonly string[]
  /** The keys that tokens of accounts are verified with, as they are at the moment. */
  readonly keys: () => readonly VerificationKey[]
  /** Signs the tokens that clients request for accounts; absent: the server issues none. */
  readonly issuer?: TokenIssuance['issuer']
  /** Tokens that are requested with a longer life get this one, in seconds; default: 2³². */
  readonly maxTokenLifetime?: number
  /** Where others read the keys; default: `/openid/v1/jwks` below the first issuer. */
  readonly jwksUri?: string
  /** Of users that are managed elsewhere; they are tried in this order, after those of accounts. */
  readonly authenticators?: readonly Authenticator[]
  /** Paths that need no credentials; default: health and version. */
  readonly anonymousPaths?: readonly string[]
  /** Receives why credentials were rejected; the client does not learn it. */
  readonly onRejected?: (reason: string) => void
}

/** What people and load balancers may see without credentials. */
export const DEFAULT_ANONYMOUS_PATHS = ['/healthz', '/livez', '/readyz', '/version']
