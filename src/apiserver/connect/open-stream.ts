import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { createMessageStream } from '../../streams/message-stream.ts'
import { acceptHandshake, listOf } from '../../streams/websocket-handshake.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { StreamRequest, Upgrade } from '../request/api-request.ts'
import { keepAlive } from '../request/end-response.ts'
import { resourceAction } from '../request/request-action.ts'
import { refusalOf } from '../status/not-permitted.ts'
import {
  badRequest,
  type StatusError,
  serviceUnavailable,
  tooManyRequests,
} from '../status/status.ts'

/** The names of the protocols that a subresource supports, the preferred one first. */
export interface StreamProtocols {
  readonly webSocket: readonly string[]
  readonly spdy: string
}

/** A protocol that client and server have in common; `open` answers 101. */
export interface StreamOffer {
  readonly kind: 'websocket' | 'spdy'
  /**
   * Returns the messages of the WebSocket, or the connection, which now carries SPDY; it ends when the server
   * stops.
   */
  open(): Duplex
}

const PROTOCOL_HEADER = 'x-stream-protocol-version'

/**
 * The protocol for a request, or the error to answer. A WebSocket is opened by GET, which read-only roles
 * permit, so its user also needs the permission to create, as in Kubernetes since 1.35.
 */
export function offerStream(
  context: ServerContext,
  request: StreamRequest,
  protocols: StreamProtocols,
): StreamOffer | StatusError {
  const { upgrade } = request
  if (upgrade === undefined) return badRequest('Upgrade request required')
  const refused = streamRefusal(context, request)
  if (refused !== undefined) return refused
  const isWebSocket = (request.headers.upgrade ?? '').toLowerCase() === 'websocket'
  const offer = isWebSocket ? webSocketHeaders(request, protocols) : spdyHeaders(request, protocols)
  if (typeof offer === 'string') return badRequest(`unable to upgrade: ${offer}`)
  const open = (): Duplex => openConnection(context, request, { upgrade, headers: offer })
  if (!isWebSocket) return { kind: 'spdy', open }
  return {
    kind: 'websocket',
    open: () => createMessageStream(open(), { role: 'server', clock: context.clock }),
  }
}

/** Why no stream is opened: without the permission to create, or when there are too many. */
export function streamRefusal(
  { authorizer, streams }: ServerContext,
  request: StreamRequest,
): StatusError | undefined {
  const { method, user } = request
  const action = resourceAction({ ...request, method: 'POST', isWatch: false })
  const refused = method === 'GET' ? refusalOf(authorizer, user, action) : undefined
  if (refused !== undefined) return refused
  if (streams.isClosed) return serviceUnavailable('the server is stopping')
  return streams.isFull ? tooManyRequests('too many streams at one time', 5) : undefined
}

interface Opening {
  readonly upgrade: Upgrade
  readonly headers: Readonly<Record<string, string>>
}

/** Answers 101; the connection, which ends when the server stops. */
export function openConnection(
  { streams, limits }: ServerContext,
  { response }: StreamRequest,
  opening: Opening,
): Duplex {
  const channel = switchProtocols({ response, ...opening, idleMs: limits.idleStreamTimeout })
  const forget = streams.add(() => channel.destroy())
  channel.once('close', forget)
  return channel
}

function webSocketHeaders(
  { method, headers }: StreamRequest,
  { webSocket }: StreamProtocols,
): Opening['headers'] | string {
  if (method !== 'GET') return 'a WebSocket is opened by GET'
  const accepted = acceptHandshake(headers, webSocket)
  return typeof accepted === 'string' ? accepted : accepted.headers
}

function spdyHeaders(
  { headers }: StreamRequest,
  { spdy }: StreamProtocols,
): Opening['headers'] | string {
  if (!listOf(headers[PROTOCOL_HEADER]).includes(spdy)) {
    return `the header X-Stream-Protocol-Version must offer ${spdy}`
  }
  return { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': spdy }
}

interface SwitchOptions {
  readonly response: ServerResponse
  readonly upgrade: Upgrade
  /** The headers of the answer 101. */
  readonly headers: OutgoingHttpHeaders
  /** Milliseconds after which an idle connection is ended. */
  readonly idleMs: number
}

/**
 * Answers 101 and takes the connection out of HTTP. For metrics and the audit log the answer lasts as long as
 * the connection.
 */
function switchProtocols({ response, upgrade, headers, idleMs }: SwitchOptions): Duplex {
  const { socket, head } = upgrade
  response.writeHead(101, headers)
  response.flushHeaders()
  response.detachSocket(socket)
  socket.setNoDelay(true)
  keepAlive(socket)
  socket.setTimeout(idleMs, () => socket.destroy())
  socket.once('close', () => {
    response.destroy()
    response.emit('close')
  })
  if (head.length > 0) socket.unshift(head)
  return socket
}
