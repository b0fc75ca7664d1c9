import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import type { VerificationKey } from '../../auth/tokens/signing-key.ts'
import type { TokenIssuance } from '../../auth/tokens/token-issuer.ts'

/** How a server authenticates its users. */
export interface IdentityOptions {
  /** Values of `iss` in tokens of accounts: new tokens have the first one; the others are accepted, too. */
  readonly issuers: readonly string[]
  /** The audiences of this server: a token must name one of them. */
  readonly audiences: readonly string[]
  /** Returns the current keys that verify tokens of accounts. */
  readonly keys: () => readonly VerificationKey[]
  /** Signs the tokens that clients request for accounts; absent: the server issues none. */
  readonly issuer?: TokenIssuance['issuer']
  /** The maximum lifetime of requested tokens, in seconds; longer ones are shortened to it. Default: 2³². */
  readonly maxTokenLifetime?: number
  /** The URL at which other programs read the keys; default: `/openid/v1/jwks` below the first issuer. */
  readonly jwksUri?: string
  /** Authenticators of users that are managed elsewhere; they are tried in this order, after the one for accounts. */
  readonly authenticators?: readonly Authenticator[]
  /** Paths that need no credentials; default: health and version. */
  readonly anonymousPaths?: readonly string[]
  /** Receives why credentials were rejected; the client does not learn it. */
  readonly onRejected?: (reason: string) => void
}

/** The paths that people and load balancers may read without credentials. */
export const DEFAULT_ANONYMOUS_PATHS = ['/healthz', '/livez', '/readyz', '/version']
