import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { hostPort } from '../../lib/ip.ts'
import { type FirstConnection, firstConnection } from '../../lib/tls/first-connection.ts'
import {
  openUpgraded,
  type UpgradedConnection,
  type UpgradeRefused,
} from '../../streams/open-web-socket.ts'
import type { NodeCredentials, ServerContext } from '../context/server-context.ts'
import { keepAlive } from '../request/end-response.ts'
import { StatusError, serviceUnavailable } from '../status/status.ts'
import {
  answeredRefusal,
  type DialledServer,
  LATE_ANSWER,
  noCredentials,
  unansweredStatus,
} from './node-faults.ts'

/** A server of a node, and what this server knows it by. */
export interface NodeTarget extends DialledServer {
  /** Undefined: the server has none, and nothing is dialled. */
  readonly credentials: NodeCredentials | undefined
  /**
   * Returns why nothing may be sent to the server; undefined: it may. If present, it decides instead of the check that
   * the authority signed the certificate; see `ConnectionTarget`.
   */
  readonly refuse?: (socket: TLSSocket) => Error | undefined
  /** Awaited before anything is sent; may still refuse. */
  readonly confirm?: (socket: TLSSocket) => Promise<StatusError | undefined>
}

export interface NodeRequest {
  readonly method: string
  /** Path and query, encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Buffer
}

/** The head of an answer, whose body is still to be read. */
export interface NodeAnswer {
  readonly answer: IncomingMessage
  /** The error to answer when the body breaks off. */
  readonly broken: (error: Error) => StatusError
}

/**
 * Sends a request with the certificate of this server. `signal` ends the request and its answer. Each request has its
 * own connection, so that a replaced certificate is used at once.
 */
export async function requestNode(
  context: ServerContext,
  target: NodeTarget,
  sent: NodeRequest,
  signal: AbortSignal,
): Promise<NodeAnswer | StatusError> {
  const connection = await dial(context, target, signal)
  if (connection instanceof StatusError) return connection
  const answer = await headOf(context, { target, connection, sent, signal })
  const broken = (error: Error): StatusError => unanswered(context, { target, connection, error })
  if (answer instanceof Error) return broken(answer)
  const refused = answeredRefusal(target, answer.statusCode ?? 0, connection)
  return refused ?? { answer, broken }
}

/** Requests another protocol. An answer other than 101 is a value. */
export async function upgradeNode(
  context: ServerContext,
  target: NodeTarget,
  { method, path, headers }: NodeRequest,
  signal: AbortSignal,
): Promise<UpgradedConnection | UpgradeRefused | StatusError> {
  const connection = await dial(context, target, signal)
  if (connection instanceof StatusError) return connection
  const { socket, address } = connection
  keepAlive(socket)
  const { clock, limits } = context
  const cancel = clock.after(limits.requestTimeout, () => socket.destroy(lateAnswer()))
  try {
    const opened = await openUpgraded({
      url: new URL(`https://${hostPort(address, target.port)}${path}`),
      method: method === 'GET' ? 'GET' : 'POST',
      headers: { ...headers, 'User-Agent': USER_AGENT },
      connection: { createConnection: () => socket },
      signal,
    })
    if ('channel' in opened) return opened
    return answeredRefusal(target, opened.statusCode, connection) ?? opened
  } catch (error) {
    const { cause = error } = error as Error
    return unanswered(context, { target, connection, error: cause as Error })
  } finally {
    cancel()
  }
}

const USER_AGENT = 'orch-server'

async function dial(
  context: ServerContext,
  target: NodeTarget,
  signal: AbortSignal,
): Promise<FirstConnection | StatusError> {
  const { credentials, refuse, confirm } = target
  if (credentials === undefined) return noCredentials(target)
  const { authority: ca, cert, key } = credentials
  const { clock, streams, connectNode: connect } = context
  const { addresses, port } = target
  const found = await firstConnection(
    { addresses, port, trust: { ca, cert, key }, connect, refuse },
    { clock, signal },
  )
  if (!('socket' in found)) {
    return streams.isClosed ? stopping() : unansweredStatus(target, found)
  }
  const refused = await confirm?.(found.socket)
  if (refused === undefined) return found
  found.socket.destroy()
  return refused
}

interface Exchange {
  readonly target: NodeTarget
  readonly connection: FirstConnection
  readonly sent: NodeRequest
  readonly signal: AbortSignal
}

/** Resolves to the head of the answer, or to an error that has a `code`. */
function headOf(
  { clock, limits }: ServerContext,
  { target, connection: { address, socket }, sent, signal }: Exchange,
): Promise<IncomingMessage | Error> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | Error>()
  const { method, path, headers, body } = sent
  keepAlive(socket)
  const request = httpsRequest({
    host: address,
    port: target.port,
    path,
    method,
    signal,
    createConnection: () => socket,
    headers: {
      ...(headers as Record<string, string>),
      'User-Agent': USER_AGENT,
      ...(body !== undefined && body.length > 0 && { 'Content-Length': body.length }),
    },
  })
  const cancel = clock.after(limits.requestTimeout, () => request.destroy(lateAnswer()))
  const settle = (result: IncomingMessage | Error): void => {
    cancel()
    resolve(result)
  }
  request.once('response', settle)
  request.on('error', settle)
  request.once('close', () => settle(new Error('the connection ended without an answer')))
  request.end(body)
  return promise
}

function unanswered(
  { streams }: ServerContext,
  {
    target,
    connection: { address, failed },
    error,
  }: Pick<Exchange, 'target' | 'connection'> & { readonly error: Error },
): StatusError {
  if (streams.isClosed) return stopping()
  return unansweredStatus(target, [...failed, { address, error }])
}

function stopping(): StatusError {
  return serviceUnavailable('the server is stopping')
}

function lateAnswer(): Error {
  return Object.assign(new Error('too late'), { code: LATE_ANSWER })
}
