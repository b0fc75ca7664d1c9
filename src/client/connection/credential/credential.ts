import { tokenValidity, type Validity } from './validity.ts'

/** What authenticates one request. */
export interface Credential {
  /** Value of the `Authorization` header. */
  readonly authorization?: string
  /** A client certificate that came with the credential (exec plugins), PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  /** Absent where the credential names no end. */
  readonly validity?: Validity
}

/** The source of a credential, which determines who renews it. */
export type CredentialKind = 'certificate' | 'token' | 'token-file' | 'exec'

/** Provides the credential of each request. */
export interface CredentialSource {
  /** `token`: written in the configuration. */
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
  /** The token of a file that this process may replace by a newer one. Absent: others renew the credential. */
  readonly renewable?: RenewableToken
}

/** A bearer token that the process that uses it may renew. */
export interface RenewableToken {
  /** The token as it is used now. */
  present(): string
  /**
   * Uses another token from now on, and writes it where the present one came from.
   * @returns why it could not be written; undefined: it was, or another program wrote a third one meanwhile, which is used
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
