import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { RelayEnvironment, RelayServer } from './relay-server.ts'
import type { Relay, RelayAddress } from './relays.ts'

/** How long a connection is idle before TCP keepalive probes the other end. */
const KEEP_ALIVE_MS = 30_000
/** For the sockets of both ends. */
const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
} as const

/**
 * Listens, and connects each client to the target. A client is read only after its target has accepted. A client is
 * reset if its target refuses, as it would be without the relay, or does not accept within `limits.connectMs`. Clients
 * beyond `limits.connections` are reset, too. Rejects with Node's error, such as EADDRINUSE, if it cannot listen.
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

/** Serves the clients of a listening socket. */
function serve(
  server: Server,
  firstTarget: RelayAddress,
  environment: RelayEnvironment,
): RelayServer {
  let target = firstTarget
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
  // `once` of node:events would reject at a failed accept.
  const ended = new Promise<void>((resolve) => server.once('close', resolve))
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

/** Connects a client to the target, then joins both connections. If either ends before that, the client is reset. */
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
 * Joins two TCP connections: what either end sends, the other receives, at the speed of the slower one. A FIN is passed
 * on for its direction alone, so that either direction may close before the other. A reset or any other failure of one
 * end becomes a reset of the other. Both sockets must allow half-open connections, and have a listener for errors.
 */
function join(one: Socket, other: Socket): void {
  follow(one, other)
  follow(other, one)
  one.pipe(other)
  other.pipe(one)
}

/** Resets the peer when a socket closes before both of its directions have ended. */
function follow(socket: Socket, peer: Socket): void {
  socket.once('close', () => {
    if (!(socket.readableEnded && socket.writableFinished)) resetSocket(peer)
  })
}

/**
 * Closes a connection at once, with a reset for the other end. While libuv is sending a FIN, it refuses a reset and
 * leaves the descriptor open (`uv_tcp_close_reset`). In that case the reset follows when the FIN is sent.
 */
export function resetSocket(socket: Socket): void {
  const { writableEnded, writableFinished, writableLength } = socket
  if (socket.destroyed) return
  if (socket.connecting) socket.destroy()
  else if (writableEnded && !writableFinished && writableLength === 0) {
    socket.once('finish', () => resetSocket(socket))
  } else socket.resetAndDestroy()
}
