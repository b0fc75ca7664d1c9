import { tokenExpiry } from './credential-expiry.ts'

/** Who we are, for one request. */
export interface Credential {
  /** Value of the `Authorization` header. */
  readonly authorization?: string
  /** A client certificate that came with the credential (exec plugins), PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  /** When the token expires, epoch milliseconds; absent where it does not say. */
  readonly expiresAt?: number
}

/** Where a credential comes from: who renews it follows from that. */
export type CredentialKind = 'certificate' | 'token' | 'token-file' | 'exec'

export interface CredentialSource {
  /** `token`: written in the configuration, so nothing renews it. */
  readonly kind: Exclude<CredentialKind, 'certificate'>
  /** The credential of now; rejects with a NodeProxyError without secrets in it. */
  current(): Promise<Credential>
  /**
   * The server answered 401: whatever is cached is not good any more. Returns
   * whether `current` may bring something else now.
   */
  reject(): boolean
  /**
   * Whether what must be there before the first request can be read; rejects with a
   * NodeProxyError. Absent: nothing can be said before it is asked for.
   */
  check?(): Promise<void>
}

/** The same credential for ever. */
export function fixedCredential(credential: Credential): CredentialSource {
  return { kind: 'token', current: () => Promise.resolve(credential), reject: () => false }
}

export const anonymous: CredentialSource = fixedCredential({})

export function bearer(token: string): Credential {
  const expiresAt = tokenExpiry(token)
  return { authorization: `Bearer ${token}`, ...(expiresAt !== undefined && { expiresAt }) }
}
