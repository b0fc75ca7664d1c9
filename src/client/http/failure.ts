import { NodeProxyError } from '../../lib/error.ts'
import { isJsonObject } from '../../lib/json.ts'
import { printable } from '../../lib/quote.ts'

/** Why an API request failed: a value, not an exception, because every caller has to expect it. */
export interface ApiFailure {
  /** HTTP status; 0 if no usable answer arrived. */
  readonly code: number
  /** `Status.reason` of the server, or a reason of this client (`Unreachable`, `Timeout`, `Redirect`, …). */
  readonly reason: string
  /** One printable line of at most 512 characters. */
  readonly message: string
  /** A code of docs/errors.md: `NP_CLIENT_…`. */
  readonly errorCode: string
  /** The delay that the server requests in `Retry-After`, in milliseconds. */
  readonly retryAfterMs: number | undefined
}

/** The value of a request, or why it failed. */
export type ApiResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: ApiFailure }

/** A failure without an HTTP response. */
export function localFailure(errorCode: string, reason: string, message: string): ApiFailure {
  return { code: 0, reason, message: printable(message), errorCode, retryAfterMs: undefined }
}

/**
 * The failure that a `Status` object describes; for any other body (HTML of a proxy, an empty one) only the HTTP
 * status is used.
 */
export function statusFailure(code: number, body: unknown): ApiFailure {
  const status = isJsonObject(body) && body['kind'] === 'Status' ? body : {}
  const reason = typeof status['reason'] === 'string' ? printable(status['reason']) : ''
  const message = typeof status['message'] === 'string' ? printable(status['message']) : ''
  const stated = typeof status['code'] === 'number' ? status['code'] : 0
  return {
    code: code > 0 ? code : stated,
    reason: reason || unstated(code || stated),
    message: message || `the server answered ${code || stated} without an explanation`,
    errorCode: 'NP_CLIENT_REFUSED',
    retryAfterMs: retryAfterOf(status['details']),
  }
}

/** The reason of a response without a Status. */
export function unstated(code: number): string {
  return `HTTP ${code}`
}

/** The cause in one line; for a response with HTTP status, reason and message. */
export function causeOf({ code, reason, message, errorCode }: ApiFailure): string {
  if (errorCode !== 'NP_CLIENT_REFUSED') return message
  return reason === unstated(code) ? message : `${code} ${reason}: ${message}`
}

/** Whether the server refused to create an object because its namespace is terminating, which is expected. */
export function isTerminating({ code, message }: ApiFailure): boolean {
  return code === 403 && message.includes('because it is being terminated')
}

/** The failure as an exception about `object`, for callers that cannot continue. */
export function failureError(failure: ApiFailure, object: string): NodeProxyError {
  return new NodeProxyError(failure.errorCode, `${failure.reason}: ${failure.message}`, { object })
}

function retryAfterOf(details: unknown): number | undefined {
  const seconds = isJsonObject(details) ? details['retryAfterSeconds'] : undefined
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, 60) * 1000 : undefined
}
