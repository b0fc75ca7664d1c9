import { connect, type Socket } from 'node:net'
import { matchReply } from '../message/match-reply.ts'
import { encodeQuery } from '../message/query.ts'
import type { Exchange, ExchangeFault, MatchedReply } from './exchange.ts'

const LENGTH_BYTES = 2

/**
 * Sends a query over a TCP connection of its own and awaits its reply, until the signal ends it. The reply's
 * length stands before it in two bytes (RFC 1035 §4.2.2), so at most 64 KiB are kept.
 */
export async function tcpExchange(exchange: Exchange): Promise<MatchedReply | ExchangeFault> {
  const { upstream, query, id, signal } = exchange
  if (signal.aborted) return 'aborted'
  const socket = connect({ host: upstream.address, port: upstream.port })
  const message = encodeQuery(query, id, exchange.edns)
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16BE(message.length)
  socket.write(Buffer.concat([length, message]))
  const reply = await firstMessage(socket, signal)
  if (typeof reply === 'string') return reply
  const header = matchReply(reply, query, id)
  if (typeof header !== 'string') return { message: reply, header }
  exchange.onDiscard(header)
  return 'mismatch'
}

async function firstMessage(socket: Socket, signal: AbortSignal): Promise<Buffer | ExchangeFault> {
  const { promise, resolve } = Promise.withResolvers<Buffer | ExchangeFault>()
  const abort = (): void => resolve('aborted')
  signal.addEventListener('abort', abort, { once: true })
  const add = collector(resolve)
  let isConnected = false
  socket.on('data', add)
  socket.on('connect', () => (isConnected = true))
  socket.on('error', () => resolve(isConnected ? 'ended' : 'unreachable'))
  socket.on('end', () => resolve('ended'))
  const result = await promise
  signal.removeEventListener('abort', abort)
  socket.destroy()
  return result
}

/** Takes what arrives, and passes the first message on when it is complete. */
function collector(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  const chunks: Buffer[] = []
  let bytes = 0
  let wanted = LENGTH_BYTES
  return (chunk) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= LENGTH_BYTES && wanted === LENGTH_BYTES) {
      chunks.splice(0, chunks.length, Buffer.concat(chunks))
      wanted += chunks[0]?.readUInt16BE(0) ?? 0
    }
    if (bytes >= wanted && bytes >= LENGTH_BYTES) {
      onMessage(Buffer.concat(chunks).subarray(LENGTH_BYTES, wanted))
    }
  }
}
