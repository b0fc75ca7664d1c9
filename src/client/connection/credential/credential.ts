import { tokenValidity, type Validity } from './validity.ts'

/** The credential of one request. */
export interface Credential {
  /** Value of the `Authorization` header. */
  readonly authorization?: string
  /** A client certificate from the credential source (exec plugins), PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  /** Absent if the credential has no known end. */
  readonly validity?: Validity
}

/** The kind of a credential's source, which determines who renews it. */
export type CredentialKind = 'certificate' | 'token' | 'token-file' | 'exec'

/** Provides the credential of each request. */
export interface CredentialSource {
  /** `token`: a token in the configuration. */
  readonly kind: Exclude<CredentialKind, 'certificate'>
  /** The present credential. @throws NP_CLIENT_CREDENTIAL, whose message has no secrets */
  current(): Promise<Credential>
  /**
   * Drops the cached credential, which the server refused with 401.
   * @returns whether `current` may return another one now
   */
  reject(): boolean | Promise<boolean>
  /**
   * Checks the file that the first request needs. Absent: the source cannot be checked before the first
   * request.
   * @throws NP_CLIENT_CREDENTIAL
   */
  check?(): Promise<void>
  /** The token in a file that this process may replace by a newer one. Absent if others renew the credential. */
  readonly renewable?: RenewableToken
}

/** A bearer token that the process that uses it may renew. */
export interface RenewableToken {
  /** The token in use. */
  present(): string
  /**
   * Uses another token from now on, and writes it where the present one came from.
   * @returns why it could not be written; undefined if it was, or if another program has written a third token
   * meanwhile, which is then used
   */
  replace(token: string): Promise<string | undefined>
}

/** A source that always returns the same credential. */
export function fixedCredential(credential: Credential): CredentialSource {
  return { kind: 'token', current: () => Promise.resolve(credential), reject: () => false }
}

/** No credential. */
export const anonymous: CredentialSource = fixedCredential({})

/** The credential of a bearer token, with its expiry if it is a JSON Web Token. */
export function bearer(token: string): Credential {
  const validity = tokenValidity(token)
  return { authorization: `Bearer ${token}`, ...(validity !== undefined && { validity }) }
}
