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

/** The source of a credential, which determines who renews it. */
export type CredentialKind = 'certificate' | 'token' | 'token-file' | 'exec'

/** Provides the credential of each request. */
export interface CredentialSource {
  /** `token`: written in the configuration, so nothing renews it. */
  readonly kind: Exclude<CredentialKind, 'certificate'>
  /** The present credential. @throws NP_CLIENT_CREDENTIAL, whose message has no secrets */
  current(): Promise<Credential>
  /**
   * Drops the cached credential, which the server refused with 401.
   * @returns whether `current` may return another one now
   */
  reject(): boolean
  /**
   * Checks the file that the first request needs. Absent: the source cannot be checked before the first
   * request.
   * @throws NP_CLIENT_CREDENTIAL
   */
  check?(): Promise<void>
}

/** A source that always returns the same credential. */
export function fixedCredential(credential: Credential): CredentialSource {
  return { kind: 'token', current: () => Promise.resolve(credential), reject: () => false }
}

/** No credential. */
export const anonymous: CredentialSource = fixedCredential({})

/** The credential of a bearer token, with its expiry if it is a JSON Web Token. */
export function bearer(token: string): Credential {
  const expiresAt = tokenExpiry(token)
  return { authorization: `Bearer ${token}`, ...(expiresAt !== undefined && { expiresAt }) }
}
