import { tokenValidity, type Validity } from './validity.ts'

/** The credential of one request. */
export interface Credential {
  /** Value of the `Authorization` header. */
  readonly authorization?: string
  /** A client certificate and its private key, both PEM. Only exec plugins provide them here. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  /** Absent if it is not known when the credential expires. */
  readonly validity?: Validity
}

/** Where a credential comes from. This determines who renews it. */
export type CredentialKind = 'certificate' | 'token' | 'token-file' | 'exec'

/** A bearer token that this process uses and may renew. */
export interface RenewableToken {
  /** The token in use. */
  present(): string
  /**
   * Uses `token` from now on, and writes it to the file that the present token came from. If another program has
   * written a third token meanwhile, that one is used instead, and nothing is written.
   * @returns why `token` could not be written; undefined if it was written, or a third token is used
   */
  replace(token: string): Promise<string | undefined>
}

/** Provides the credential of each request. */
export interface CredentialSource {
  /**
   * `token`: a token in the configuration, or no credential at all (`anonymous`). Never `certificate`: client
   * certificates of the configuration belong to the TLS options of the connection.
   */
  readonly kind: Exclude<CredentialKind, 'certificate'>
  /** The present credential. @throws NP_CLIENT_CREDENTIAL; its message contains no secret */
  current(): Promise<Credential>
  /**
   * Drops the cached credential, because the server refused it with 401.
   * @returns whether the next call of `current` may return another credential
   */
  reject(): boolean | Promise<boolean>
  /**
   * Checks that the file with the credential can be read and has a valid token. Absent: this source cannot be checked
   * before the first request.
   * @throws NP_CLIENT_CREDENTIAL
   */
  check?(): Promise<void>
  /** The token, if this process may replace it in its file. Absent if other programs renew the credential. */
  readonly renewable?: RenewableToken
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
