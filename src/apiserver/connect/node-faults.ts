import {
  KUBELET_CLIENT,
  KUBELET_CLIENT_ROLE,
  NODE_CLIENT,
  NODE_READER_ROLE,
} from '../../auth/user.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { type FailedAttempt, LATE_CONNECTION } from '../../lib/tls/first-connection.ts'
import { StatusError } from '../status/status.ts'

/** The error code of an answer that did not arrive in time. */
export const LATE_ANSWER = 'ANSWER_LATE'

/** The error code of a certificate that is not the pinned one. */
export const OTHER_CERTIFICATE = 'CERT_NOT_PINNED'

/** The annotation of a Node with the SHA-256 of the certificate that its kubelet had at the first connection. */
export const PINNED_CERTIFICATE = 'orch.io/kubelet-certificate'

/** What errors say about a server of a node. */
interface NodeServer {
  /** What cannot be done when it is not reached, after the name of the node. */
  readonly failure: (node: string) => string
  readonly remedies: Readonly<Record<Remedy, string>>
  /** The problem if it answers 401, and if it answers 403. */
  readonly refusals: Readonly<Record<401 | 403, Fault>>
}

type Remedy = 'listen' | 'route' | 'certify' | 'clock' | 'log'

const CLOCK = 'set the clocks of both machines'

/** node-proxy, which serves the inspection of its node. */
export const NODE_PROXY: NodeServer = {
  failure: (node) => `node ${quote(node)} cannot be read`,
  remedies: {
    listen:
      'set inspection.bindAddress of its node-proxy, or name its port as in /api/v1/nodes/NAME:PORT/proxy/',
    route:
      'check inspection.bindAddress of its node-proxy, and the firewalls between this server and the node',
    certify:
      'make a certificate for this address by `orch-server node-certificate`, and name its files in inspection.tlsCertFile and inspection.tlsPrivateKeyFile of its node-proxy',
    clock: CLOCK,
    log: 'see the log of its node-proxy',
  },
  refusals: {
    401: {
      why: 'it does not accept the certificate of this server (401)',
      remedy:
        'name a copy of pki/ca.crt of the data directory in inspection.clientCAFile of its node-proxy',
    },
    403: {
      why: `it does not let user ${quote(NODE_CLIENT)} read it (403)`,
      remedy: `bind the ClusterRole ${NODE_READER_ROLE} to this user again`,
    },
  },
}

/** The kubelet of a node. */
export const KUBELET: NodeServer = {
  failure: (node) => `the kubelet of node ${quote(node)} cannot be reached`,
  remedies: {
    listen: 'start the kubelet, and compare its port with status.daemonEndpoints of the Node',
    route: 'check the firewalls between this server and the node',
    certify:
      'let the kubelet request its certificate from this server (serverTLSBootstrap: true), or name the authority that signed it in kubelet.caFile',
    clock: CLOCK,
    log: 'see the log of the kubelet',
  },
  refusals: {
    401: {
      why: 'it does not accept the certificate of this server (401)',
      remedy:
        'name a copy of pki/ca.crt of the data directory in authentication.x509.clientCAFile of the kubelet (--client-ca-file)',
    },
    403: {
      why: `it refuses user ${quote(KUBELET_CLIENT)} (403)`,
      remedy: `bind the ClusterRole ${KUBELET_CLIENT_ROLE} to this user again; or, if kubelet.clientCertFile is set, to the user of that certificate`,
    },
  },
}

const unsigned = {
  why: 'its certificate is not signed by the authority of this server',
  remedy: 'certify',
} as const
const noRoute = { why: 'no route leads there', remedy: 'route' } as const

/** Faults by error code. */
const FAULTS: Readonly<Record<string, { readonly why: string; readonly remedy: Remedy }>> = {
  ECONNREFUSED: { why: 'the connection was refused', remedy: 'listen' },
  ETIMEDOUT: { why: 'the connection timed out', remedy: 'route' },
  [LATE_ANSWER]: { why: 'its answer did not arrive in time', remedy: 'log' },
  [LATE_CONNECTION]: { why: 'there was no TLS connection within 5 s', remedy: 'route' },
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  SELF_SIGNED_CERT_IN_CHAIN: unsigned,
  DEPTH_ZERO_SELF_SIGNED_CERT: unsigned,
  UNABLE_TO_GET_ISSUER_CERT: unsigned,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unsigned,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unsigned,
  CERT_SIGNATURE_FAILURE: unsigned,
  INVALID_PURPOSE: { why: 'its certificate is not for servers', remedy: 'certify' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    why: 'its certificate does not name this address',
    remedy: 'certify',
  },
  CERT_HAS_EXPIRED: { why: 'its certificate has expired', remedy: 'certify' },
  CERT_NOT_YET_VALID: { why: 'its certificate is not valid yet', remedy: 'clock' },
  EPROTO: { why: 'it does not speak TLS', remedy: 'listen' },
  ECONNRESET: { why: 'it ended the connection without an answer', remedy: 'log' },
}

const REPIN: Fault = {
  why: 'its certificate is neither signed by the authority of this server nor the one of the first connection',
  remedy: `if the kubelet got a new certificate, take the old one off its Node: kubectl annotate node NAME ${PINNED_CERTIFICATE}-`,
}

/** A problem with a node, and its remedy. */
interface Fault {
  readonly why: string
  readonly remedy: string
}

/** The problem at one address. */
interface AddressFault extends Fault {
  readonly address: IpAddress
}

/** A server of a node that was to be reached. */
export interface DialledServer {
  readonly server: NodeServer
  /** The name of the Node object. */
  readonly node: string
  /** The addresses to try, in this order; at least one. */
  readonly addresses: readonly IpAddress[]
  readonly port: number
}

/** 503, or 504 if an answer did not arrive in time. */
export function unansweredStatus(
  dialled: DialledServer,
  attempts: readonly FailedAttempt[],
): StatusError {
  const isLate = attempts.some(({ error }) => codeOf(error) === LATE_ANSWER)
  const faults = attempts.map((attempt) => attemptFault(dialled.server, attempt))
  return nodeStatus(isLate ? 504 : 503, dialled, faults)
}

/**
 * 503 for an answer with which the node refuses this server: if a 401 were passed on, it would look as if the
 * client had to authenticate. `failed`: the addresses that were tried before. Undefined: the answer is for the
 * client.
 */
export function answeredRefusal(
  dialled: DialledServer,
  statusCode: number,
  { address, failed }: { readonly address: IpAddress; readonly failed: readonly FailedAttempt[] },
): StatusError | undefined {
  const fault = refusalFault(dialled.server, statusCode)
  if (fault === undefined) return undefined
  const before = failed.map((attempt) => attemptFault(dialled.server, attempt))
  return nodeStatus(503, dialled, [...before, { address, ...fault }])
}

function refusalFault({ refusals, remedies }: NodeServer, statusCode: number): Fault | undefined {
  if (statusCode === 401 || statusCode === 403) return refusals[statusCode]
  if (statusCode >= 200 && statusCode <= 599) return undefined
  return { why: `it answers with status ${statusCode}`, remedy: remedies.log }
}

/** 503 when this server has no certificate for nodes. */
export function noCredentials(dialled: DialledServer): StatusError {
  const fault = {
    why: 'this server has no certificate for requests to nodes',
    remedy: 'run orch-server, which creates one',
  }
  const [address] = dialled.addresses
  return nodeStatus(503, dialled, address === undefined ? [] : [{ address, ...fault }])
}

function attemptFault({ remedies }: NodeServer, { address, error }: FailedAttempt): AddressFault {
  const code = codeOf(error)
  if (code === OTHER_CERTIFICATE) return { address, ...REPIN }
  const known = FAULTS[code] ?? (code.startsWith('ERR_SSL') ? FAULTS['EPROTO'] : undefined)
  if (known !== undefined) return { address, why: known.why, remedy: remedies[known.remedy] }
  const why = `${code || 'the request failed'}: ${quote(error.message)}`
  return { address, why, remedy: remedies.log }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

/**
 * A Status that names every address that was tried and its problem, in the order of the Node, and then each
 * remedy once.
 */
function nodeStatus(
  code: 503 | 504,
  { server, node, port, addresses }: DialledServer,
  found: readonly AddressFault[],
): StatusError {
  const faults = addresses.flatMap((one) => found.filter(({ address }) => address === one))
  const places = faults.map(({ address, why }) => `at ${hostPort(address, port)}: ${why}`)
  const remedies = new Set(faults.map(({ remedy }) => remedy))
  return new StatusError({
    code,
    reason: code === 503 ? 'ServiceUnavailable' : 'Timeout',
    message: `${server.failure(node)} ${[places.join(', nor '), ...remedies].join('; ')}`,
    details: { name: node },
  })
}
