import type { CredentialKind } from '../connection/credential/credential.ts'
import type { Validity } from '../connection/credential/validity.ts'

/** One request, from its first byte to the head of the response. */
export interface ObservedRequest {
  /** HTTP method. */
  readonly method: string
  /** HTTP status, or `error` without a response. */
  readonly code: string
  readonly seconds: number
}

/** Receives what metrics about a client need. */
export interface ClientObserver {
  /** A request got the head of its response, or failed. */
  requested(request: ObservedRequest): void
  /** A credential is in use; `validity` is undefined if it does not expire. */
  authenticated(kind: CredentialKind, validity: Validity | undefined): void
}

/** Ignores everything. */
export const noObserver: ClientObserver = { requested: () => {}, authenticated: () => {} }
