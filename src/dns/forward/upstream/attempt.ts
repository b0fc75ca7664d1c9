import { createSocket } from 'node:dgram'
import { connect, type Socket } from 'node:net'
import type { Random } from '../../../lib/random.ts'
import { encodeQuery, type Query } from '../message/query.ts'
import type { ReplyHeader } from '../message/read-records.ts'
import {
  type DiscardReason,
  matchReply,
  type ReplyFault,
  readReply,
  type UpstreamAnswer,
} from '../message/read-reply.ts'
import type { Upstream } from './upstream.ts'

const LENGTH_BYTES = 2

const IDS = 65_536

/** Why an attempt got no answer; `truncated` is a reply over TCP that is still truncated. */
export type AttemptFault = ExchangeFault | ReplyFault | 'truncated'

/** Faults with which the upstream did not reply; with all others it replied. */
export const WITHOUT_REPLY: ReadonlySet<AttemptFault | 'timeout'> = new Set([
  'unreachable',
  'ended',
  'mismatch',
  'timeout',
])

/** One query to one upstream, including the repetitions that its reply requires. */
export interface Attempt {
  readonly upstream: Upstream
  readonly query: Query
  readonly random: Pick<Random, 'below'>
  readonly signal: AbortSignal
  readonly onDiscard: (reason: DiscardReason) => void
}

/** Over UDP; over TCP when the reply is truncated; once more without EDNS when that is refused. */
export async function runAttempt(attempt: Attempt): Promise<UpstreamAnswer | AttemptFault> {
  const answer = await queryOnce(attempt, true)
  return answer === 'edns' ? queryOnce(attempt, false) : answer
}

async function queryOnce(attempt: Attempt, edns: boolean): Promise<UpstreamAnswer | AttemptFault> {
  const exchange = { ...attempt, edns, id: attempt.random.below(IDS) }
  const reply = await udpExchange(exchange)
  if (typeof reply === 'string') return reply
  return reply.header.isTruncated ? queryOverTcp(exchange) : answerOf(reply, exchange)
}

async function queryOverTcp(exchange: Exchange & Attempt): Promise<UpstreamAnswer | AttemptFault> {
  const overTcp = { ...exchange, id: exchange.random.below(IDS) }
  const reply = await tcpExchange(overTcp)
  if (typeof reply === 'string') return reply
  return reply.header.isTruncated ? 'truncated' : answerOf(reply, overTcp)
}

function answerOf({ message, header }: MatchedReply, { query, edns }: Exchange) {
  const answer = readReply(message, header, query)
  // Without EDNS these RCODEs mean that the question itself is refused.
  return answer === 'edns' && !edns ? 'rcode' : answer
}

/**
 * Sends a query in a datagram and awaits its reply, until the signal ends it. Each exchange has a socket and
 * with it a random port of its own; the socket is connected, so the kernel drops datagrams from other addresses
 * and ports and reports a port where nothing listens. Messages that are not a reply are discarded. A forger has
 * to guess about 31 bits, of the port and the id (RFC 5452).
 */
async function udpExchange(exchange: Exchange): Promise<MatchedReply | ExchangeFault> {
  const { upstream, query, id, signal } = exchange
  const { promise, resolve } = Promise.withResolvers<MatchedReply | ExchangeFault>()
  if (signal.aborted) return 'aborted'
  const socket = createSocket(upstream.address.includes(':') ? 'udp6' : 'udp4')
  const abort = (): void => resolve('aborted')
  signal.addEventListener('abort', abort, { once: true })
  socket.on('error', () => resolve('unreachable'))
  socket.on('message', (message) => {
    const header = matchReply(message, query, id)
    if (typeof header === 'string') exchange.onDiscard(header)
    else resolve({ message, header })
  })
  // Not as a callback of `connect`, which Node would call with the error instead of emitting 'error'.
  socket.once('connect', () => {
    if (!signal.aborted) socket.send(encodeQuery(query, id, exchange.edns))
  })
  socket.connect(upstream.port, upstream.address)
  const result = await promise
  signal.removeEventListener('abort', abort)
  socket.removeAllListeners('message')
  socket.close()
  return result
}

/**
 * Sends a query over a TCP connection of its own and awaits its reply, until the signal ends it. A length of
 * two bytes precedes the reply (RFC 1035 §4.2.2), so at most 64 KiB are buffered.
 */
async function tcpExchange(exchange: Exchange): Promise<MatchedReply | ExchangeFault> {
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

/** Collects chunks, and passes on the first message when it is complete. */
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

/** One message to an upstream and the reply to it. */
interface Exchange {
  readonly upstream: Upstream
  readonly query: Query
  /** Unpredictable, 0 to 65535. */
  readonly id: number
  readonly edns: boolean
  /** Ends the exchange: by then its socket is closed. */
  readonly signal: AbortSignal
  /** Called for each message that is not a reply to this query. */
  readonly onDiscard: (reason: DiscardReason) => void
}

/** A reply that matches the query by id, name, type and class. */
interface MatchedReply {
  readonly message: Buffer
  readonly header: ReplyHeader
}

/** Why there is no reply. */
type ExchangeFault =
  /** The system reports that nothing listens there, that there is no route, or that there is no free socket. */
  | 'unreachable'
  /** A TCP connection ended before the reply was complete. */
  | 'ended'
  /** The reply over TCP is to another query. */
  | 'mismatch'
  /** `signal` ended it. */
  | 'aborted'
