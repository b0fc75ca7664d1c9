import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Connection } from '../../client/connection/connection.ts'
import { noObserver } from '../../client/http/client-observer.ts'
import { networkFailure } from '../../client/http/network-failure.ts'
import type { Query } from '../../client/http/query.ts'
import { createTransport } from '../../client/http/transport.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, isJsonObject, type JsonObject, parseJson, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import {
  CONNECT_MS,
  type FailedAttempt,
  firstConnection,
  LATE_CONNECTION,
  MAX_ADDRESSES,
  type TlsTrust,
} from '../../lib/tls/first-connection.ts'
import { type Api, createApi } from '../session/api.ts'
import type { CallFailure } from '../session/call-failure.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { type NodeFlags, portOf } from './node-flags.ts'

const TURN_ON =
  'set inspection.bindAddress of its node-proxy (docs/operate/inspection.md), or check --inspection-port'
const CERTIFY =
  'give the authority that signed its inspection.tlsCertFile by --inspection-certificate-authority; the certificate must name the InternalIP of the node'

/** The answer of a node-proxy, or why there is none. */
export type NodeResult =
  | { readonly ok: true; readonly body: JsonObject }
  | { readonly ok: false; readonly error: NodeProxyError }

/** A list of a node-proxy, one JSON object per line, or why there is none. */
export type NodeLines =
  | { readonly ok: true; readonly lines: readonly JsonObject[] }
  | { readonly ok: false; readonly error: NodeProxyError }

/** What is read of a node, and how it is reached. */
export interface NodeRequest extends NodeFlags {
  /** `/inspection/v1/facts` */
  readonly path: string
  readonly query?: Query
  /** Milliseconds for the answer, after the connection is made; 20 s unless given. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 20_000

type UsedContext = Pick<CommandContext, 'session' | 'notice' | 'host'>

/** Reads a document, such as `/inspection/v1/status`, of the node-proxy of a Node object. @throws NP_ORCHCTL_USAGE */
export function readDocument(
  node: JsonObject,
  context: UsedContext,
  request: NodeRequest,
): Promise<NodeResult> {
  const { path, query = {} } = request
  return connected(node, context, request, async (api, failed) => {
    const result = await api.request({ path, query })
    if (result.ok) return { ok: true, body: result.value.body }
    return { ok: false, error: failed(result.failure) }
  })
}

/** Reads a list, such as `/inspection/v1/traffic`, in the same way. */
export function readLines(
  node: JsonObject,
  context: UsedContext,
  request: NodeRequest,
): Promise<NodeLines> {
  const { path, query = {} } = request
  return connected(node, context, request, async (api, failed) => {
    const result = await api.requestText({ path, query })
    if (!result.ok) return { ok: false, error: failed(result.failure) }
    const lines = parsedLines(result.text)
    if (lines !== undefined) return { ok: true, lines }
    const name = quote(stringAt(node, 'metadata', 'name'))
    const message = `the node-proxy of node ${name} answered ${quote(path)} with something other than JSON`
    return { ok: false, error: new NodeProxyError('NP_ORCHCTL_NODE', message) }
  })
}

type Failed = Extract<NodeResult, { readonly ok: false }>

/** Errors that concern one node, so that the other nodes are still read. */
const OF_ONE_NODE: ReadonlySet<string> = new Set(['NP_ORCHCTL_NODE', 'NP_ORCHCTL_NODE_UNREACHABLE'])

/**
 * Reads over a connection to a node, with the credentials of the session. They are sent only to a server whose
 * certificate is signed for the address of the node by the authority of the flags, or by that of the API server.
 * @throws NP_ORCHCTL_USAGE, NP_CLIENT_CREDENTIAL
 */
async function connected<T>(
  node: JsonObject,
  context: UsedContext,
  request: NodeRequest,
  read: (api: Api, failed: (failure: CallFailure) => NodeProxyError) => Promise<T>,
): Promise<T | Failed> {
  const { connection, impersonation } = await context.session()
  if (impersonation !== undefined) {
    throw usageError(
      'node-proxies do not support impersonation',
      'leave out --as, --as-group and --as-uid',
    )
  }
  const trust = await nodeTrust(connection, request)
  try {
    const { origin, socket, failures } = await connectToNode(node, portOf(request), trust)
    // The first request uses this socket; the transport opens one by itself for a further request.
    const unused = [socket]
    const transport = createTransport({
      connection: nodeConnection(origin, connection, trust),
      opened: () => unused.pop(),
      userAgent: `orchctl/${context.host.version}`,
      clock: systemClock,
      observer: noObserver,
    })
    const api = createApi({
      transport,
      server: origin,
      timeoutMs: request.timeoutMs ?? TIMEOUT_MS,
      clock: systemClock,
      headers: {},
      notice: context.notice,
      verbosity: 0,
    })
    try {
      const name = stringAt(node, 'metadata', 'name')
      return await read(api, (failure) => nodeError(name, failure, failures))
    } finally {
      await transport.close()
      socket.destroy()
    }
  } catch (error) {
    if (error instanceof NodeProxyError && OF_ONE_NODE.has(error.code)) return { ok: false, error }
    throw error
  }
}

/** Undefined: a line is not a JSON object. */
function parsedLines(text: string): readonly JsonObject[] | undefined {
  const lines = text.split('\n').filter((line) => line !== '')
  const objects = lines.map(parseJson).filter(isJsonObject)
  return objects.length === lines.length ? objects : undefined
}

/** The connection to a node: with the credentials for the API server, but without what leads to that server. */
function nodeConnection(
  origin: string,
  { credentials, source }: Connection,
  { ca, cert, key }: TlsTrust,
): Connection {
  const material = async () => ({ ca, cert, key })
  return {
    origin,
    basePath: '',
    credentials,
    source,
    tls: { material, serverName: undefined, insecureSkipVerify: false },
  }
}

/** `failures`: why the addresses that were tried before were not reached. */
function nodeError(
  node: string,
  failure: CallFailure,
  failures: readonly AddressFailure[],
): NodeProxyError {
  const { message, code } = failure
  if (code === 0) return unreachableNode(node, [...failures, failure])
  const text = `the node-proxy of node ${quote(node)} refuses: ${message} (HTTP ${code})`
  return new NodeProxyError('NP_ORCHCTL_NODE', text)
}

/**
 * How orchctl and a node verify each other: by the authority of the flags, or that of the API server, and by the client
 * certificate for the API server.
 * @throws NP_ORCHCTL_USAGE, NP_CLIENT_CREDENTIAL
 */
async function nodeTrust(
  { tls, credentials }: Connection,
  { inspectionCertificateAuthority: file }: NodeFlags,
): Promise<TlsTrust> {
  const material = await tls?.material()
  const ca = file === undefined ? material?.ca : await readAuthority(file)
  if (ca === undefined) {
    const hint =
      'give --inspection-certificate-authority FILE; nothing is sent to a node unverified'
    throw usageError('no authority of the nodes is known: the kubeconfig has none', hint)
  }
  const { certificate } = await credentials.current()
  return { ca, cert: material?.cert, key: material?.key, ...certificate }
}

async function readAuthority(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const message = `--inspection-certificate-authority ${quote(file)} cannot be read: ${error.code}`
    throw usageError(message)
  })
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw usageError(`--inspection-certificate-authority ${quote(file)} holds no certificate in PEM`)
}

/** A connection to the node-proxy of a node. */
interface ConnectedNode {
  /** The origin with the address that was reached: `https://192.0.2.7:10246`. */
  readonly origin: string
  readonly socket: TLSSocket
  /** Why the addresses that were tried before were not reached. */
  readonly failures: readonly AddressFailure[]
}

/**
 * Connects to the first InternalIP of a Node object that is reached, as `firstConnection` does.
 * @throws NP_ORCHCTL_NODE where it has none, NP_ORCHCTL_NODE_UNREACHABLE
 */
async function connectToNode(
  node: JsonObject,
  port: number,
  trust: TlsTrust,
): Promise<ConnectedNode> {
  const name = stringAt(node, 'metadata', 'name')
  const addresses = internalAddresses(node)
  if (addresses.length === 0) {
    throw new NodeProxyError('NP_ORCHCTL_NODE', `node ${quote(name)} has no InternalIP`, {
      hint: 'see its status.addresses, which the program that registers the node writes',
    })
  }
  const target = { addresses, port, trust, connect: (host: string) => connect({ host, port }) }
  const result = await firstConnection(target, { clock: systemClock })
  const attempts = 'socket' in result ? result.failed : result
  const failures = addresses
    .flatMap((one) => attempts.filter(({ address }) => address === one))
    .map((attempt) => addressFailure(attempt, port))
  if (!('socket' in result)) throw unreachableNode(name, failures)
  const { address, socket } = result
  return { origin: `https://${hostPort(address, port)}`, socket, failures }
}

/** Why a node was not read at one of its addresses, which the message names. */
type AddressFailure = Pick<CallFailure, 'errorCode' | 'message'>

/** The failure of an attempt to connect. */
function addressFailure({ address, error }: FailedAttempt, port: number): AddressFailure {
  const origin = `https://${hostPort(address, port)}`
  if (!('code' in error) || error.code !== LATE_CONNECTION) return networkFailure(error, origin)
  const message = `no TLS connection to ${origin} within ${CONNECT_MS / 1000} s`
  return { errorCode: 'NP_CLIENT_TIMEOUT', message }
}

/** Names each address with its reason, and then each remedy once. */
function unreachableNode(node: string, failures: readonly AddressFailure[]): NodeProxyError {
  const reasons = failures.map(({ message }) => message).join('; ')
  const remedies = failures.map(({ errorCode }) =>
    errorCode === 'NP_CLIENT_TLS' ? CERTIFY : TURN_ON,
  )
  const text = `the node-proxy of node ${quote(node)} cannot be read: ${reasons}`
  const hint = [...new Set(remedies)].join('; ')
  return new NodeProxyError('NP_ORCHCTL_NODE_UNREACHABLE', text, { hint })
}

/** The addresses of a Node object, internal ones first. */
export function nodeAddresses(node: JsonObject): readonly IpAddress[] {
  const all = arrayAt(node, 'status', 'addresses')
  const ofType = (type: string) => all.filter((one) => stringAt(one, 'type') === type)
  return [...ofType('InternalIP'), ...ofType('ExternalIP')].flatMap(
    (one) => parseIp(stringAt(one, 'address')) ?? [],
  )
}

/** At most four addresses at which other machines of the cluster reach the node, in the order of the Node object. */
export function internalAddresses(node: JsonObject): readonly IpAddress[] {
  const found = arrayAt(node, 'status', 'addresses')
    .filter((one) => stringAt(one, 'type') === 'InternalIP')
    .flatMap((one) => parseIp(stringAt(one, 'address')) ?? [])
  return [...new Set(found)].slice(0, MAX_ADDRESSES)
}
