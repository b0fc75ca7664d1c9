import type { ApiFailure } from '../../client/http/failure.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { arrayAt, type Json, stringAt } from '../../lib/json.ts'

/** A field of the object that a server refuses. */
export interface FailureCause {
  /** `spec.ports[0].port`; empty: the object as a whole. */
  readonly field: string
  readonly message: string
}

/** Why a request failed: the Status of the server, or the error of the connection. */
export interface CallFailure {
  /** HTTP status; 0 without an answer. */
  readonly code: number
  /** `Status.reason`, or one of the client: `Unreachable`, `Timeout`, … */
  readonly reason: string
  readonly message: string
  /** A code of docs/errors.md. */
  readonly errorCode: string
  readonly causes: readonly FailureCause[]
}

/** The failure of an answer other than 2xx; `body` is a Status, or anything else. */
export function refused(code: number, body: Json | undefined): CallFailure {
  const causes = arrayAt(body, 'details', 'causes').map((cause) => ({
    field: stringAt(cause, 'field'),
    message: stringAt(cause, 'message'),
  }))
  return {
    code,
    reason: stringAt(body, 'reason') || `HTTP ${code}`,
    message: stringAt(body, 'message') || `the server answered ${code} without an explanation`,
    errorCode: 'NP_CLIENT_REFUSED',
    causes,
  }
}

/** The failure of a request without an answer. */
export function unanswered({ reason, message, errorCode }: ApiFailure): CallFailure {
  return { code: 0, reason, message, errorCode, causes: [] }
}

/** Whether the server may answer later: it cannot be reached, has too much to do, or has failed. */
export function isOutage({ code }: CallFailure): boolean {
  return code === 0 || code === 429 || code >= 500
}

const REMEDIES: Readonly<Record<string, string>> = {
  Unauthorized:
    'orchctl doctor says what is wrong with the credential of the kubeconfig, or --token',
  Forbidden: 'a RoleBinding or ClusterRoleBinding gives the right: orchctl auth can-i --list',
  AlreadyExists: 'change it with orchctl apply or orchctl edit',
}

const LOCAL_REMEDIES: Readonly<Record<string, string>> = {
  NP_CLIENT_UNREACHABLE: 'check that the server runs, and --server or the kubeconfig',
  NP_CLIENT_TIMEOUT: 'check the server and the network, or give --request-timeout',
  NP_CLIENT_TLS: 'check the certificate-authority of the kubeconfig',
}

/** The failure as an error with its remedy. `more` replaces the remedy. */
export function failureError(failure: CallFailure, more?: string): NodeProxyError {
  const { code, reason, message, errorCode } = failure
  const hint = more ?? (code === 0 ? LOCAL_REMEDIES[errorCode] : REMEDIES[reason])
  return new NodeProxyError(
    errorCode,
    code === 0 ? message : `${reason}: ${message}`,
    hint === undefined ? {} : { hint },
  )
}
