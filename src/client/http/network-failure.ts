import { NodeProxyError } from '../../lib/error.ts'
import { CONNECT_TIMEOUT_MS } from './connector.ts'
import type { ApiFailure } from './failure.ts'
import { localFailure } from './failure.ts'

const CERTIFICATES =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET|VERIFY)_)/
/** The peer's answer is not the beginning of TLS, or not HTTP: `wrong version number`, … */
const FOREIGN_PROTOCOL =
  /^(HPE_|HTTPParserError|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|UNKNOWN_PROTOCOL|BAD_RECORD_TYPE|RECORD_TOO_SMALL))/

type Describe = (server: string, code: string) => ApiFailure

/** Failures with a specific message, by the code of the error. */
const DESCRIPTIONS: ReadonlyMap<string, Describe> = new Map([
  ['ABORT_ERR', aborted],
  ['UND_ERR_ABORTED', aborted],
  ['UND_ERR_CONNECT_TIMEOUT', noConnection],
  ['ECONNREFUSED', refused],
  ['ENOTFOUND', unresolved],
  ['EAI_AGAIN', unresolved],
  ['EAI_FAIL', unresolved],
  ['UND_ERR_SOCKET', closed],
  ['ECONNRESET', closed],
  ['EPIPE', closed],
])

/** The failure of a request without a response: credential, certificate, timeout, or network. `server`: its origin. */
export function networkFailure(error: unknown, server: string): ApiFailure {
  if (error instanceof NodeProxyError) return credentialFailure(error)
  const code = errorCode(error)
  const describe = DESCRIPTIONS.get(code)
  if (describe !== undefined) return describe(server, code)
  if (FOREIGN_PROTOCOL.test(code)) {
    const message = `${server} does not speak the protocol of its URL: ${code}`
    return localFailure('NP_CLIENT_GARBAGE', 'ForeignProtocol', message)
  }
  if (CERTIFICATES.test(code)) {
    const message = `TLS with ${server} failed: ${code}`
    return localFailure('NP_CLIENT_TLS', 'Certificate', message)
  }
  const message = `the connection to ${server} failed: ${code}`
  return localFailure('NP_CLIENT_UNREACHABLE', 'Unreachable', message)
}

/** The failure of a request that was not answered within `ms` milliseconds. */
export function timeoutFailure(server: string, ms: number): ApiFailure {
  const message = `no answer from ${server} within ${ms / 1000} s`
  return localFailure('NP_CLIENT_TIMEOUT', 'Timeout', message)
}

function credentialFailure({ code, message, hint }: NodeProxyError): ApiFailure {
  return localFailure(code, 'Credential', hint === undefined ? message : `${message}; ${hint}`)
}

function aborted(server: string): ApiFailure {
  return localFailure('NP_CLIENT_ABORTED', 'Aborted', `the request to ${server} was given up`)
}

function noConnection(server: string): ApiFailure {
  const message = `no connection to ${server} within ${CONNECT_TIMEOUT_MS / 1000} s`
  return localFailure('NP_CLIENT_TIMEOUT', 'NoConnection', message)
}

function refused(server: string, code: string): ApiFailure {
  const message = `${server} refuses connections: ${code}`
  return localFailure('NP_CLIENT_UNREACHABLE', 'ConnectionRefused', message)
}

function unresolved(server: string, code: string): ApiFailure {
  const message = `the name in ${server} cannot be resolved: ${code}`
  return localFailure('NP_CLIENT_UNREACHABLE', 'NameResolution', message)
}

function closed(server: string, code: string): ApiFailure {
  const message = `${server} closed the connection: ${code}`
  return localFailure('NP_CLIENT_UNREACHABLE', 'Closed', message)
}

/** The code of an error, or of the first of its causes with a code. */
function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'AbortError') return 'ABORT_ERR'
  if ('code' in error && typeof error.code === 'string') return error.code
  if (error instanceof AggregateError) return errorCode(error.errors[0])
  return error.cause === undefined ? error.name : errorCode(error.cause)
}
