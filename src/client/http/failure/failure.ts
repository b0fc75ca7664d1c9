import { NodeProxyError } from '../../../lib/error.ts'
import { isRecord } from '../../json.ts'
import { printable } from '../../printable.ts'

/** Why an API request brought nothing; a value, because a caller expects it every day. */
export interface ApiFailure {
  /** HTTP status; 0 when no usable answer arrived. */
  readonly code: number
  /** `Status.reason` of the server, or one of ours (`Unreachable`, `Timeout`, `Redirect`, …). */
  readonly reason: string
  /** One printable line of at most 512 characters. */
  readonly message: string
  /** Row of docs/errors.md. */
  readonly errorCode: string
  /** What the server asked for in `Retry-After`, milliseconds. */
  readonly retryAfterMs: number | undefined
}

export type ApiResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: ApiFailure }

/** A failure without an HTTP answer. */
export function localFailure(errorCode: string, reason: string, message: string): ApiFailure {
  return { code: 0, reason, message: printable(message), errorCode, retryAfterMs: undefined }
}

/**
 * The failure a `Status` object describes; anything else (HTML of a proxy, an
 * empty body) becomes a failure of the HTTP status alone.
 */
export function statusFailure(code: number, body: unknown): ApiFailure {
  const status = isRecord(body) && body['kind'] === 'Status' ? body : {}
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

/** The reason of an answer that gives none of its own. */
export function unstated(code: number): string {
  return `HTTP ${code}`
}

/** What failed, for people: of an answer its status, reason and message. */
export function causeOf({ code, reason, message, errorCode }: ApiFailure): string {
  if (errorCode !== 'NP_CLIENT_REFUSED') return message
  return reason === unstated(code) ? message : `${code} ${reason}: ${message}`
}

/** Whether a namespace that is being emptied takes nothing new, which is to be expected. */
export function isTerminating({ code, message }: ApiFailure): boolean {
  return code === 403 && message.includes('because it is being terminated')
}

/** The same failure as an exception, for callers that cannot go on. */
export function failureError(failure: ApiFailure, object: string): NodeProxyError {
  return new NodeProxyError(failure.errorCode, `${failure.reason}: ${failure.message}`, { object })
}

function retryAfterOf(details: unknown): number | undefined {
  const seconds = isRecord(details) ? details['retryAfterSeconds'] : undefined
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, 60) * 1000 : undefined
}
