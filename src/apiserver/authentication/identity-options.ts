import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import type { VerificationKey } from '../../auth/tokens/signing-key.ts'

/** How a server knows its users. */
export interface IdentityOptions {
  /** `iss` of the tokens of accounts. The first one signs; others were used before. */
  readonly issuers: readonly string[]
  /** What a token must be for, to be accepted here. */
  readonly audiences: readonly string[]
  /** The keys that tokens of accounts are verified with, as they are at the moment. */
  readonly keys: () => readonly VerificationKey[]
  /** Of users that are managed elsewhere; they are tried in this order, after those of accounts. */
  readonly authenticators?: readonly Authenticator[]
  /** Paths that need no credentials; default: health and version. */
  readonly anonymousPaths?: readonly string[]
  /** Receives why credentials were rejected; the client does not learn it. */
  readonly onRejected?: (reason: string) => void
}

/** What people and load balancers may see without credentials. */
export const DEFAULT_ANONYMOUS_PATHS = ['/healthz', '/livez', '/readyz', '/version']
