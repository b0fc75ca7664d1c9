import { createSocket } from 'node:dgram'
import { matchReply } from '../message/match-reply.ts'
import { encodeQuery } from '../message/query.ts'
import type { Exchange, ExchangeFault, MatchedReply } from './exchange.ts'

/**
 * Sends a query in a datagram and awaits its reply, until the signal ends it. Each exchange has a socket and with
 * it a random port of its own; the socket is connected, so the kernel drops datagrams from other addresses and
 * ports and reports a port where nothing listens. What arrives and is no reply is discarded: together with the id
 * a forger has to guess about 31 bits (RFC 5452).
 */
export async function udpExchange(exchange: Exchange): Promise<MatchedReply | ExchangeFault> {
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
  socket.connect(upstream.port, upstream.address, () => {
    if (!signal.aborted) socket.send(encodeQuery(query, id, exchange.edns))
  })
  const result = await promise
  signal.removeEventListener('abort', abort)
  socket.removeAllListeners('message')
  socket.close()
  return result
}
