import type { CredentialKind } from '../connection/credential.ts'

/** One request, from its first byte to the head of the response. */
export interface ObservedRequest {
  /** HTTP method. */
  readonly method: string
  /** HTTP status, or `error` without a response. */
  readonly code: string
  readonly seconds: number
}

/** What a client reports of itself; metrics are made of it. */
export interface ClientObserver {
  requested(request: ObservedRequest): void
  /** A credential is in use; `expiresAt` in epoch milliseconds, undefined where it names no end. */
  authenticated(kind: CredentialKind, expiresAt: number | undefined): void
}

export const noObserver: ClientObserver = { requested: () => {}, authenticated: () => {} }
