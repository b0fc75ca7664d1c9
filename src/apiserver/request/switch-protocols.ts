import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Upgrade } from './exchange.ts'
import { keepAlive } from './keep-alive.ts'

export interface SwitchOptions {
  readonly response: ServerResponse
  readonly upgrade: Upgrade
  /** Of the answer 101. */
  readonly headers: OutgoingHttpHeaders
  /** Milliseconds after which a connection ends that carries nothing. */
  readonly idleMs: number
}

/**
 * Answers 101 and takes the connection out of HTTP. For metrics and the audit log the answer lasts as long as
 * the connection.
 */
export function switchProtocols({ response, upgrade, headers, idleMs }: SwitchOptions): Duplex {
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
