import type { IncomingMessage, ServerResponse } from 'node:http'
import { request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { NODE_CLIENT, NODE_READER_ROLE } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import { isJsonObject, type Json, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import {
  type FailedAttempt,
  type FirstConnection,
  firstConnection,
  LATE_CONNECTION,
} from '../../lib/tls/first-connection.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import { keepAlive, sendChunks } from '../request/end-response.ts'
import { StatusError, serviceUnavailable, tooManyRequests } from '../status/status.ts'
import { findEndpoint, type NodeEndpoint } from './find-endpoint.ts'

/** The error code of an answer that did not arrive in time. */
const LATE_ANSWER = 'ANSWER_LATE'

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

/** Faults by error code. */
const FAULTS: Readonly<Record<string, Fault>> = {
  ECONNREFUSED: { why: 'the connection was refused', remedy: LISTEN },
  ETIMEDOUT: { why: 'the connection timed out', remedy: ROUTE },
  [LATE_ANSWER]: { why: 'its answer did not arrive in time', remedy: LOG },
  [LATE_CONNECTION]: { why: 'there was no TLS connection within 5 s', remedy: ROUTE },
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  SELF_SIGNED_CERT_IN_CHAIN: unsigned,
  DEPTH_ZERO_SELF_SIGNED_CERT: unsigned,
  UNABLE_TO_GET_ISSUER_CERT: unsigned,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unsigned,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unsigned,
  CERT_SIGNATURE_FAILURE: unsigned,
  INVALID_PURPOSE: { why: 'its certificate is not for servers', remedy: CERTIFY },
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

/** The maximum size of an error that is parsed; a longer answer is passed on unchanged. */
const MAX_BYTES = 65_536

/** The code of an error of node-proxy. */
const CODE = /^NP_[A-Z0-9_]{1,60}$/

/** Characters that could control a terminal. */
const CONTROL = /[\p{C}\p{Zl}\p{Zp}]/gu

/** The Status reasons for the codes that node-proxies answer with. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  503: 'ServiceUnavailable',
}

/** Headers that make a browser use the declared type of the answer, run nothing in it and not store it. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
}

/** The Content-Type of an answer that names none. */
const BYTES = 'application/octet-stream'

/**
 * GET and HEAD below `nodes/proxy`: sends the request to the node-proxy of the node with the certificate of this server,
 * never with the credentials of the client, and passes on the answer while it arrives.
 */
export async function forwardToNode(
  context: ServerContext,
  request: StreamRequest,
): Promise<HandlerResult> {
  const endpoint = await findEndpoint(context, request)
  if (endpoint instanceof StatusError) return endpoint
  const { streams, clock, limits } = context
  const { response, method } = request
  const credentials = context.nodeCredentials()
  if (credentials === undefined) return noCredentials(endpoint)
  if (streams.isFull) return tooManyRequests('too many streams at one time', 5)
  if (response.destroyed) return STREAMING
  const over = new AbortController()
  const forget = streams.add(() => over.abort())
  const end = (): void => {
    forget()
    over.abort()
  }
  response.once('close', end)
  const { signal } = over
  const fail = (attempts: readonly FailedAttempt[]): StatusError => {
    end()
    if (streams.isClosed) return serviceUnavailable('the server is stopping')
    return unansweredStatus(endpoint, attempts)
  }
  const { authority: ca, cert, key } = credentials
  const target = { ...endpoint, trust: { ca, cert, key }, connect: context.connectNode }
  const connection = await firstConnection(target, { clock, signal })
  if (!('socket' in connection)) return fail(connection)
  const waiting = { clock, signal, answerMs: limits.requestTimeout }
  const answer = await requestNode(connection, { ...endpoint, method }, waiting)
  const { address, failed } = connection
  if (answer instanceof Error) return fail([...failed, { address, error: answer }])
  const refused = answeredRefusal(endpoint, answer, connection)
  if (refused !== undefined) {
    end()
    return refused
  }
  answer.setTimeout(limits.idleStreamTimeout, () => answer.destroy())
  const body =
    method === 'GET' && mayBeNodeError(answer) ? await readNodeError(endpoint.node, answer) : answer
  if (body instanceof Error) return fail([...failed, { address, error: body }])
  if (body instanceof StatusError) {
    end()
    return body
  }
  void sendNodeAnswer(response, { answer, body }, context).finally(end)
  return STREAMING
}

/** `body`: the body of the answer, if it was already read. */
interface NodeAnswer {
  readonly answer: IncomingMessage
  readonly body?: AsyncIterable<Buffer> | Iterable<Buffer>
}

/**
 * Passes on status, Content-Type and body as fast as the client takes them. If the node does not finish its
 * answer, or sends nothing for `idleStreamTimeout`, the connection to the client is broken off, so that a
 * partial answer is not taken for a complete one.
 */
async function sendNodeAnswer(
  response: ServerResponse,
  { answer, body = answer }: NodeAnswer,
  { clock, limits }: Pick<ServerContext, 'clock' | 'limits'>,
): Promise<void> {
  response.writeHead(answer.statusCode ?? 0, {
    ...HEADERS,
    'Content-Type': answer.headers['content-type'] ?? BYTES,
  })
  response.flushHeaders()
  if (response.socket !== null) keepAlive(response.socket)
  try {
    await sendChunks(response, body, { clock, stalledMs: limits.stalledClientTimeout })
  } catch {
    response.destroy()
  }
}

/** Whether an answer may be an error of node-proxy, `{"code":"NP_…","message":"…"}`. */
function mayBeNodeError({ statusCode = 0, headers }: IncomingMessage): boolean {
  const { 'content-type': type = '', 'content-length': length } = headers
  return statusCode >= 400 && type === 'application/json' && Number(length) <= MAX_BYTES
}

/**
 * An error of node-proxy as a Status with its code as the cause, because Kubernetes clients show the message of
 * a Status but not of other JSON. Otherwise the body, or why it broke off.
 */
async function readNodeError(
  node: string,
  answer: IncomingMessage,
): Promise<StatusError | readonly Buffer[] | Error> {
  const body = await buffer(answer).catch((error: Error) => error)
  if (body instanceof Error) return body
  const error = parsed(body)
  const [reason, text] = [stringAt(error, 'code'), stringAt(error, 'message')]
  if (!CODE.test(reason) || text === '') return [body]
  const message = text.replace(CONTROL, ' ')
  const code = answer.statusCode ?? 0
  return new StatusError({
    code,
    reason: REASONS[code] ?? 'InternalError',
    message: `node-proxy of node ${quote(node)}: ${message} (${reason})`,
    details: { name: node, causes: [{ reason, message }] },
  })
}

function parsed(body: Buffer): Json | undefined {
  try {
    const value = JSON.parse(body.toString()) as Json
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A problem with a node, and its remedy. */
interface Fault {
  readonly why: string
  readonly remedy: string
}

/** 503, or 504 if an answer did not arrive in time. */
function unansweredStatus(endpoint: NodeEndpoint, attempts: readonly FailedAttempt[]): StatusError {
  const isLate = attempts.some(({ error }) => codeOf(error) === LATE_ANSWER)
  return nodeStatus(isLate ? 504 : 503, endpoint, attempts.map(attemptFault))
}

/**
 * 503 for an answer with which the node refuses this server: if a 401 were passed on, it would look as if the
 * client had to authenticate. `failed`: the addresses that were tried before. Undefined: the answer is for the
 * client.
 */
function answeredRefusal(
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

/** 503 when this server has no certificate for nodes. */
function noCredentials(endpoint: NodeEndpoint): StatusError {
  const fault = {
    why: 'this server has no certificate for requests to nodes',
    remedy: 'run orch-server, which creates one',
  }
  return nodeStatus(
    503,
    endpoint,
    endpoint.addresses.slice(0, 1).map((address) => ({ address, ...fault })),
  )
}

/** The problem at one address. */
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

/**
 * A Status that names every address that was tried and its problem, in the order of the Node, and then each
 * remedy once.
 */
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

interface NodeRequest extends Pick<NodeEndpoint, 'port' | 'path'> {
  readonly method: string
}

interface Waiting {
  readonly clock: Pick<Clock, 'after'>
  /** Aborts the request and its answer. */
  readonly signal: AbortSignal
  /** Milliseconds within which the head of the answer must arrive. */
  readonly answerMs: number
}

/**
 * Resolves to the head of the answer, whose body is still to be read. Rejects with an error that has a `code`.
 * Each request has its own connection, so that a replaced certificate is used at once.
 */
function requestNode(
  { address, socket }: Pick<FirstConnection, 'address' | 'socket'>,
  { port, path, method }: NodeRequest,
  { clock, signal, answerMs }: Waiting,
): Promise<IncomingMessage | Error> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | Error>()
  keepAlive(socket)
  const sent = request({
    host: address,
    port,
    path,
    method,
    signal,
    createConnection: () => socket,
    headers: { Accept: 'application/json, application/x-ndjson', 'User-Agent': 'orch-server' },
  })
  const late = Object.assign(new Error('too late'), { code: LATE_ANSWER })
  const cancel = clock.after(answerMs, () => sent.destroy(late))
  const settle = (result: IncomingMessage | Error): void => {
    cancel()
    resolve(result)
  }
  sent.once('response', settle)
  sent.on('error', settle)
  sent.once('close', () => settle(new Error('the connection ended without an answer')))
  sent.end()
  return promise
}
