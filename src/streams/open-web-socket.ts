import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { NodeProxyError } from '../lib/error.ts'
import { createMessageStream } from './message-stream.ts'
import { openUpgraded, type UpgradeOptions, type UpgradeRefused } from './open-upgraded.ts'
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
