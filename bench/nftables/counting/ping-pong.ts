import { timeval } from '../../lab/blocking-socket.ts'
import { AF_INET, checked, libc, SOCK_CLOEXEC, SOCK_STREAM, socketAddress } from '../../lab/libc.ts'
import { inside } from '../../lab/namespace.ts'
import { TARGET_PORT } from '../../lab/plan.ts'
import type { Topology } from '../../lab/topology.ts'

const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const SO_RCVTIMEO = 20
const IPPROTO_TCP = 6
const TCP_NODELAY = 1
const TIMEOUT_MS = 1_000
const MSG_DONTWAIT = 0x40
/** What a stream sends at once. */
const CHUNK = Buffer.alloc(128 << 10)
const SIZE = BigInt(CHUNK.length)
const ON = Buffer.from([1, 0, 0, 0])
/** An empty address, because the socket is connected. */
const NO_ADDRESS = Buffer.alloc(0)

/** One established connection from the client to an endpoint; one thread serves both ends. */
export class PingPong {
  readonly #near: number
  readonly #far: number
  readonly #byte = Buffer.alloc(1)
  readonly #received = Buffer.alloc(CHUNK.length)

  constructor(
    { client, backends }: Topology,
    destination: { readonly ip: number; readonly port: number },
  ) {
    const listener = inside(backends, listen)
    try {
      this.#near = inside(client, () => connected(destination))
      this.#far = tuned(checked(libc.accept4(listener, 0n, 0n, SOCK_CLOEXEC), 'accept4'))
    } finally {
      libc.close(listener)
    }
  }

  /** Sends `count` bytes to the endpoint and back. @returns microseconds for each */
  round(count: number): number {
    const startedAt = performance.now()
    for (let n = 0; n < count; n++) {
      this.#pass(this.#near, this.#far)
      this.#pass(this.#far, this.#near)
    }
    return ((performance.now() - startedAt) * 1_000) / count
  }

  /** Sends as much as the connection takes, for `ms` milliseconds. @returns bytes that arrived in a second */
  stream(ms: number): number {
    const startedAt = performance.now()
    let bytes = 0
    do {
      libc.sendto(this.#near, CHUNK, SIZE, MSG_DONTWAIT, NO_ADDRESS, 0)
      for (;;) {
        const length = Number(libc.recv(this.#far, this.#received, SIZE, MSG_DONTWAIT))
        if (length <= 0) break
        bytes += length
      }
    } while (performance.now() < startedAt + ms)
    return (bytes * 1_000) / (performance.now() - startedAt)
  }

  close(): void {
    libc.close(this.#near)
    libc.close(this.#far)
  }

  #pass(from: number, to: number): void {
    checked(Number(libc.sendto(from, this.#byte, 1n, 0, NO_ADDRESS, 0)), 'sendto on a connection')
    checked(Number(libc.recv(to, this.#byte, 1n, 0)), 'recv on a connection')
  }
}

function listen(): number {
  const listener = checked(libc.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 'socket')
  // An earlier connection still has the same port.
  checked(libc.setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, ON, ON.length), 'SO_REUSEADDR')
  const address = socketAddress(0, TARGET_PORT)
  checked(libc.bind(listener, address, address.length), 'bind')
  checked(libc.listen(listener, 1), 'listen')
  return limited(listener)
}

function connected({ ip, port }: { readonly ip: number; readonly port: number }): number {
  const socket = checked(libc.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 'socket')
  const address = socketAddress(ip, port)
  checked(libc.connect(socket, address, address.length), 'connect')
  return tuned(socket)
}

function tuned(socket: number): number {
  checked(libc.setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, ON, ON.length), 'TCP_NODELAY')
  return limited(socket)
}

function limited(socket: number): number {
  const timeout = timeval(TIMEOUT_MS)
  checked(libc.setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, timeout, timeout.length), 'SO_RCVTIMEO')
  return socket
}
