import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { type SocketAddress, socketAddress } from '../../../../kernel/sockets/socket-address.ts'
import { admit } from '../admission.ts'
import type { ListenerAddress } from '../listener-address.ts'
import { type ListenerParts, type OpenListener, peerAddress } from './open-listener.ts'
import { SOCKET_OPTIONS, TcpLink } from './tcp-link.ts'

const BACKLOG = 4096

/** Listens: every client gets a link to a backend, or a reset. Rejects when it cannot listen. */
export async function openTcpListener(
  parts: ListenerParts,
  { ip, port }: ListenerAddress,
): Promise<OpenListener> {
  const server = createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true })
  const destination = socketAddress(ip, port)
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    receive(parts, socket, destination)
  })
  const listening = once(server, 'listening')
  const options = { backlog: BACKLOG, ipv6Only: true, exclusive: true, reusePort: true }
  server.listen({ ...options, host: ip, port })
  await listening
  // What goes wrong with one accept (too many open files) concerns that client only.
  server.on('error', () => undefined)
  return {
    async close() {
      await untilStill(() => accepted)
      server.close()
    },
  }
}

/** Until a round of the event loop, in each of which it accepts one client at least, brings none. */
async function untilStill(accepted: () => number): Promise<void> {
  let before = -1
  for (let round = 0; round <= BACKLOG && accepted() !== before; round++) {
    before = accepted()
    // The first ends this round, the second the next one.
    await setImmediate()
    await setImmediate()
  }
}

function receive(parts: ListenerParts, socket: Socket, destination: SocketAddress): void {
  const { remoteAddress, remotePort } = socket
  const client = peerAddress(remoteAddress, remotePort)
  const selection =
    client && admit(parts, 'TCP', { side: 'others', client, destination, now: Date.now() })
  if (selection) new TcpLink(parts, socket, selection).begin()
  else socket.on('error', () => undefined).resetAndDestroy()
}
