import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { RelayEnvironment, RelayServer } from './relay-server.ts'
import type { Relay, RelayAddress } from './relays.ts'

/** Idle milliseconds before TCP keepalive probes the other end. */
const KEEP_ALIVE_MS = 30_000
const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
} as const

/**
 * Listens and connects each client to the target. A client is read only once its target has accepted. It is reset if
 * the target refuses or is too slow, because without the relay it would have seen a reset, too. Rejects if it cannot
 * listen.
 */
export async function openTcpRelay(
  relay: Relay,
  environment: RelayEnvironment,
): Promise<RelayServer> {
  const { listen } = relay
  const server = createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true })
  const listening = once(server, 'listening')
  server.listen({ host: listen.ip, port: listen.port, ipv6Only: true, exclusive: true })
  await listening
  return serve(server, relay.target, environment)
}

function serve(server: Server, first: RelayAddress, environment: RelayEnvironment): RelayServer {
  let target = first
  const clients = new Set<Socket>()
  // A failed accept (too many open files) concerns only that client.
  server.on('error', () => undefined)
  server.on('connection', (client) => {
    client.on('error', () => undefined)
    if (clients.size >= environment.limits.connections) {
      resetSocket(client)
      return
    }
    clients.add(client)
    client.once('close', () => clients.delete(client))
    connectTo(target, client, environment)
  })
  const ended = once(server, 'close').then(() => undefined)
  return {
    get connections() {
      return clients.size
    },
    ended,
    retarget: (next) => {
      target = next
    },
    close: () => server.close(),
    reset: () => {
      server.close()
      for (const client of clients) resetSocket(client)
    },
  }
}

function connectTo(
  { ip, port }: RelayAddress,
  client: Socket,
  { clock, limits }: RelayEnvironment,
): void {
  const target = connect({ ...SOCKET_OPTIONS, host: ip, port })
  const giveUp = () => {
    resetSocket(client)
    target.destroy()
  }
  const cancel = clock.after(limits.connectMs, giveUp)
  client.once('close', giveUp)
  target.on('error', () => undefined).once('close', giveUp)
  target.once('close', cancel)
  target.once('connect', () => {
    cancel()
    client.off('close', giveUp)
    target.off('close', giveUp)
    join(client, target)
  })
}

/**
 * Joins two TCP connections: what either end sends, the other receives, at the speed of the slower one. A FIN is
 * passed on by itself, so that either direction may close before the other; a reset or any other failure becomes a
 * reset. Both sockets must allow half-open connections, and have a listener for errors.
 */
function join(one: Socket, other: Socket): void {
  follow(one, other)
  follow(other, one)
  one.pipe(other)
  other.pipe(one)
}

function follow(socket: Socket, peer: Socket): void {
  socket.once('close', () => {
    if (!(socket.readableEnded && socket.writableFinished)) resetSocket(peer)
  })
}

/**
 * Closes a connection at once, with a reset for the other end. While libuv is sending a FIN it refuses this and leaves
 * the descriptor open (`uv_tcp_close_reset`), so the end of sending is awaited.
 */
export function resetSocket(socket: Socket): void {
  const { writableEnded, writableFinished, writableLength } = socket
  if (socket.destroyed) return
  if (socket.connecting) socket.destroy()
  else if (writableEnded && !writableFinished && writableLength === 0) {
    socket.once('finish', () => resetSocket(socket))
  } else socket.resetAndDestroy()
}
