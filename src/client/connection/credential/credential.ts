import { tokenExpiry } from './credential-expiry.ts'

/** What authenticates one request. */
export interface Credential {
  /** Value of the `Authorization` header. */
  readonly authorization?: string
  /** A client certificate that came with the credential (exec plugins), PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  /** When the token expires, epoch milliseconds; absent where the token has no expiry. */
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
   * The server answered 401: the cached credential is not valid any more. Returns
   * whether `current` may bring something else now.
   */
  reject(): boolean
  /**
   * Checks that the file exists which the first request needs; rejects with a
   * NodeProxyError. Absent: the source cannot be checked before the first request.
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
