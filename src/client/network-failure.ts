import { NodeProxyError } from '../lib/error.ts'
import type { ApiFailure } from './failure.ts'
import { localFailure } from './failure.ts'

const TIMEOUTS = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
])
const CERTIFICATES =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET|VERIFY)_)/

/** What kept a request from being answered: credential, certificate, time, or the network. */
export function networkFailure(error: unknown, server: string): ApiFailure {
  if (error instanceof NodeProxyError) {
    return localFailure(error.code, 'Credential', error.message)
  }
  const code = errorCode(error)
  if (code === 'ABORT_ERR' || code === 'UND_ERR_ABORTED') {
    return localFailure('NP_CLIENT_ABORTED', 'Aborted', `the request to ${server} was given up`)
  }
  if (TIMEOUTS.has(code)) return timeoutFailure(server)
  if (CERTIFICATES.test(code)) {
    const message = `no trust between us and ${server}: ${code}`
    return localFailure('NP_CLIENT_TLS', 'Certificate', message)
  }
  const message = `${server} cannot be reached: ${code}`
  return localFailure('NP_CLIENT_UNREACHABLE', 'Unreachable', message)
}

export function timeoutFailure(server: string): ApiFailure {
  return localFailure('NP_CLIENT_TIMEOUT', 'Timeout', `${server} did not answer in time`)
}

/** The most telling code on the way down an error's causes. */
function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'AbortError') return 'ABORT_ERR'
  if ('code' in error && typeof error.code === 'string') return error.code
  if (error instanceof AggregateError) return errorCode(error.errors[0])
  return error.cause === undefined ? error.name : errorCode(error.cause)
}
