import { randomBytes } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { NodeProxyError } from '../lib/error.ts'
import { request as httpRequest } from '../lib/http/node-http.ts'
import { parseJson, valueAt } from '../lib/json.ts'
import { createMessageStream } from './message-stream.ts'
import { acceptKey } from './websocket-handshake.ts'

/** A WebSocket that is open. */
export interface OpenWebSocket {
  /** Its messages. */
  readonly messages: Duplex
  /** The sub-protocol that the server chose. */
  readonly protocol: string
}

export interface WebSocketOptions extends Omit<UpgradeOptions, 'method'> {
  /** Sub-protocols, the best one first; their names may hold slashes. */
  readonly protocols: readonly string[]
}

/**
 * Opens a WebSocket. A refusal is a value.
 * @throws NP_STREAMS_CONNECT when no answer comes, NP_STREAMS_WEBSOCKET when it is no answer to this handshake
 */
export async function openWebSocket({
  protocols,
  headers,
  ...rest
}: WebSocketOptions): Promise<OpenWebSocket | UpgradeRefused> {
  const key = randomBytes(16).toString('base64')
  const opened = await openUpgraded({
    ...rest,
    method: 'GET',
    headers: {
      ...headers,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': key,
      'Sec-WebSocket-Protocol': protocols.join(', '),
    },
  })
  if (!('channel' in opened)) return opened
  const { channel } = opened
  const protocol = opened.headers['sec-websocket-protocol'] ?? ''
  const isOurs = opened.headers['sec-websocket-accept'] === acceptKey(key)
  if (isOurs && protocols.includes(protocol)) {
    return { protocol, messages: createMessageStream(channel, { role: 'client' }) }
  }
  channel.destroy()
  const why = isOurs ? 'it chose no sub-protocol of ours' : 'it answered another handshake'
  throw new NodeProxyError('NP_STREAMS_WEBSOCKET', `the server opened no WebSocket: ${why}`)
}

export interface UpgradeOptions {
  /** `http:` or `https:`. */
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Options of Node's HTTP client, such as credentials, authorities or a socket path. */
  readonly connection?: Pick<
    RequestOptions,
    'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'socketPath' | 'createConnection'
  >
  /** Ends the attempt. */
  readonly signal?: AbortSignal
}

/** A connection whose protocol the server has changed. */
export interface UpgradedConnection {
  readonly channel: Duplex
  readonly headers: IncomingMessage['headers']
}

/** A server that answered with another status. */
export interface UpgradeRefused {
  readonly statusCode: number
  /** The message of its Status, or its first bytes. */
  readonly message: string
}

const MAX_BODY_BYTES = 64 << 10

/**
 * Requests another protocol over HTTP/1.1. An answer other than 101 is a value.
 * @throws NP_STREAMS_CONNECT when no complete answer comes
 */
export function openUpgraded(
  options: UpgradeOptions,
): Promise<UpgradedConnection | UpgradeRefused> {
  const { url, method, headers, connection, signal } = options
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const request = send(url, {
      ...connection,
      method,
      // With an agent, Node would ignore `createConnection`.
      ...(connection?.createConnection === undefined && { agent: false }),
      headers: headers as OutgoingHttpHeaders,
      ...(signal && { signal }),
    })
    const fail = (cause: Error): void => {
      const text = `no connection: ${cause.message}`
      reject(new NodeProxyError('NP_STREAMS_CONNECT', text, { cause }))
    }
    request.once('error', fail)
    request.once('upgrade', (response, socket, head) => {
      if (socket instanceof Socket) socket.setNoDelay(true)
      if (head.length > 0) socket.unshift(head)
      resolve({ channel: socket, headers: response.headers })
    })
    request.once('response', (response) => void refusalOf(response).then(resolve, fail))
    request.end()
  })
}

async function refusalOf(response: IncomingMessage): Promise<UpgradeRefused> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part)
    length += part.length
    if (length > MAX_BODY_BYTES) break
  }
  const text = Buffer.concat(parts).toString()
  return { statusCode: response.statusCode ?? 0, message: messageOf(text) }
}

function messageOf(text: string): string {
  const message = valueAt(parseJson(text), 'message')
  // Anything but a text: the answer is no Status.
  return typeof message === 'string' ? message : text.slice(0, 1000)
}
