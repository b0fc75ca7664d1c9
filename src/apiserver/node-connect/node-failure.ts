import type { IncomingMessage } from 'node:http'
import { NODE_CLIENT, NODE_READER_ROLE } from '../../auth/node-client.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import {
  type FailedAttempt,
  type FirstConnection,
  LATE_CONNECTION,
} from '../../lib/tls/first-connection.ts'
import { StatusError } from '../status/status.ts'
import type { NodeEndpoint } from './find-endpoint.ts'
import { LATE_ANSWER } from './request-node.ts'

/** What went wrong with a node, and what to do about it. */
interface Fault {
  readonly why: string
  readonly remedy: string
}

const LISTEN =
  'set inspection.bindAddress of its node-proxy, or name its port as in /api/v1/nodes/NAME:PORT/proxy/'
const ROUTE =
  'check inspection.bindAddress of its node-proxy, and the firewalls between this server and the node'
const CERTIFY =
  'make a certificate for this address by `orch-server node-certificate`, and name its files in inspection.tlsCertFile and inspection.tlsPrivateKeyFile of its node-proxy'
const LOG = 'see the log of its node-proxy'

const unsigned = {
  why: 'its certificate is not signed by the authority of this server',
  remedy: CERTIFY,
}
const noRoute = { why: 'no route leads there', remedy: ROUTE }

/** By the code of an error. */
const FAULTS: Readonly<Record<string, Fault>> = {
  ECONNREFUSED: { why: 'the connection was refused', remedy: LISTEN },
  ETIMEDOUT: { why: 'the connection timed out', remedy: ROUTE },
  [LATE_ANSWER]: { why: 'its answer did not come in time', remedy: LOG },
  [LATE_CONNECTION]: { why: 'there was no TLS connection within 5 s', remedy: ROUTE },
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  SELF_SIGNED_CERT_IN_CHAIN: unsigned,
  DEPTH_ZERO_SELF_SIGNED_CERT: unsigned,
  UNABLE_TO_GET_ISSUER_CERT: unsigned,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unsigned,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unsigned,
  CERT_SIGNATURE_FAILURE: unsigned,
  INVALID_PURPOSE: { why: 'its certificate is not one of a server', remedy: CERTIFY },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    why: 'its certificate does not name this address',
    remedy: CERTIFY,
  },
  CERT_HAS_EXPIRED: { why: 'its certificate has expired', remedy: CERTIFY },
  CERT_NOT_YET_VALID: {
    why: 'its certificate is not valid yet',
    remedy: 'set the clocks of both machines',
  },
  EPROTO: { why: 'it does not speak TLS', remedy: LISTEN },
  ECONNRESET: { why: 'it ended the connection without an answer', remedy: LOG },
}

/** 503, or 504 for an answer that did not come in time. */
export function unansweredStatus(
  endpoint: NodeEndpoint,
  attempts: readonly FailedAttempt[],
): StatusError {
  const isLate = attempts.some(({ error }) => codeOf(error) === LATE_ANSWER)
  return nodeStatus(isLate ? 504 : 503, endpoint, attempts.map(attemptFault))
}

/**
 * 503 for an answer by which the node refuses this server. Passed on as it is, a 401 would look as if the client had to
 * prove who it is. `failed`: the addresses before. Undefined: the answer is for the client.
 */
export function answeredRefusal(
  endpoint: NodeEndpoint,
  { statusCode = 0 }: IncomingMessage,
  { address, failed }: Pick<FirstConnection, 'address' | 'failed'>,
): StatusError | undefined {
  const fault = refusalFault(statusCode)
  if (fault === undefined) return undefined
  return nodeStatus(503, endpoint, [...failed.map(attemptFault), { address, ...fault }])
}

function refusalFault(statusCode: number): Fault | undefined {
  if (statusCode === 401) {
    return {
      why: 'it does not accept the certificate of this server (401)',
      remedy:
        'name a copy of pki/ca.crt of the data directory in inspection.clientCAFile of its node-proxy',
    }
  }
  if (statusCode === 403) {
    return {
      why: `it does not let user ${quote(NODE_CLIENT)} read it (403)`,
      remedy: `bind the ClusterRole ${NODE_READER_ROLE} to this user again`,
    }
  }
  if (statusCode >= 200 && statusCode <= 599) return undefined
  return { why: `it answers with status ${statusCode}`, remedy: LOG }
}

/** 503 where this server has no certificate for nodes. */
export function noCredentials(endpoint: NodeEndpoint): StatusError {
  const fault = {
    why: 'this server has no certificate for requests to nodes',
    remedy: 'run it by orch-server, which makes one',
  }
  return nodeStatus(
    503,
    endpoint,
    endpoint.addresses.slice(0, 1).map((address) => ({ address, ...fault })),
  )
}

/** What went wrong at one address. */
interface AddressFault extends Fault {
  readonly address: IpAddress
}

function attemptFault({ address, error }: FailedAttempt): AddressFault {
  const code = codeOf(error)
  const tls = code.startsWith('ERR_SSL') ? FAULTS['EPROTO'] : undefined
  const other = { why: `${code || 'the request failed'}: ${quote(error.message)}`, remedy: LOG }
  return { address, ...(FAULTS[code] ?? tls ?? other) }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

/** Names every address that was tried with what is wrong there, in the order of the Node, and then each remedy once. */
function nodeStatus(
  code: 503 | 504,
  { node, port, addresses }: NodeEndpoint,
  found: readonly AddressFault[],
): StatusError {
  const faults = addresses.flatMap((one) => found.filter(({ address }) => address === one))
  const places = faults.map(({ address, why }) => `at ${hostPort(address, port)}: ${why}`)
  const remedies = new Set(faults.map(({ remedy }) => remedy))
  return new StatusError({
    code,
    reason: code === 503 ? 'ServiceUnavailable' : 'Timeout',
    message: `node ${quote(node)} cannot be read ${[places.join(', nor '), ...remedies].join('; ')}`,
    details: { name: node },
  })
}
