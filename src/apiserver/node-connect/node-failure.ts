import type { IncomingMessage } from 'node:http'
import { NODE_CLIENT, NODE_READER_ROLE } from '../../auth/node-client.ts'
import { hostPort } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { StatusError } from '../status/status.ts'
import type { NodeEndpoint } from './find-endpoint.ts'
import { LATE } from './request-node.ts'

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
  [LATE.connection]: { why: 'there was no TLS connection within 5 s', remedy: ROUTE },
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

/** 503, or 504 for an answer that did not come in time. `error`: see `requestNode`. */
export function unansweredStatus(endpoint: NodeEndpoint, error: Error): StatusError {
  const code = 'code' in error ? String(error.code) : ''
  if (code === LATE.answer) {
    const late = { why: 'its answer did not come in time', remedy: LOG }
    return nodeStatus(504, endpoint, late)
  }
  const tls = code.startsWith('ERR_SSL') ? FAULTS['EPROTO'] : undefined
  const other = { why: `${code || 'the request failed'}: ${quote(error.message)}`, remedy: LOG }
  return nodeStatus(503, endpoint, FAULTS[code] ?? tls ?? other)
}

/**
 * 503 for an answer by which the node refuses this server. Passed on as it is, a 401 would look as if the client had to
 * prove who it is. Undefined: the answer is for the client.
 */
export function answeredRefusal(
  endpoint: NodeEndpoint,
  { statusCode = 0 }: IncomingMessage,
): StatusError | undefined {
  if (statusCode === 401) {
    return nodeStatus(503, endpoint, {
      why: 'it does not accept the certificate of this server (401)',
      remedy:
        'name a copy of pki/ca.crt of the data directory in inspection.clientCAFile of its node-proxy',
    })
  }
  if (statusCode === 403) {
    return nodeStatus(503, endpoint, {
      why: `it does not let user ${quote(NODE_CLIENT)} read it (403)`,
      remedy: `bind the ClusterRole ${NODE_READER_ROLE} to this user again`,
    })
  }
  if (statusCode >= 200 && statusCode <= 599) return undefined
  return nodeStatus(503, endpoint, { why: `it answers with status ${statusCode}`, remedy: LOG })
}

/** 503 where this server has no certificate for nodes. */
export function noCredentials(endpoint: NodeEndpoint): StatusError {
  return nodeStatus(503, endpoint, {
    why: 'this server has no certificate for requests to nodes',
    remedy: 'run it by orch-server, which makes one',
  })
}

function nodeStatus(
  code: 503 | 504,
  { node, address, port }: NodeEndpoint,
  { why, remedy }: Fault,
): StatusError {
  return new StatusError({
    code,
    reason: code === 503 ? 'ServiceUnavailable' : 'Timeout',
    message: `node ${quote(node)} cannot be read at ${hostPort(address, port)}: ${why}; ${remedy}`,
    details: { name: node },
  })
}
