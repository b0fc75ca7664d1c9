import { timeval } from '../../lab/blocking-socket.ts'
import { AF_INET, checked, libc, SOCK_CLOEXEC, SOCK_DGRAM, socketAddress } from '../../lab/libc.ts'
import { inside } from '../../lab/namespace.ts'
import { BACKENDS, CLIENT, toNumber } from '../../lab/plan.ts'

const PORT = 7_777
const SOL_SOCKET = 1
const SO_RCVTIMEO = 20
/** Milliseconds that a lost packet counts for. */
const TIMEOUT_MS = 1_000

interface End {
  readonly socket: number
  readonly peer: Buffer
}

/**
 * Sends a UDP packet from the client's namespace through the node to the backends' namespace and back, in one thread.
 */
export class Echo {
  readonly #near: End
  readonly #far: End
  readonly #packet = Buffer.alloc(8)
  readonly #received = Buffer.alloc(8)
  #serial = 0

  constructor({ client, backends }: { readonly client: string; readonly backends: string }) {
    const near = socketAddress(toNumber(CLIENT.host), PORT)
    const far = socketAddress(toNumber(BACKENDS.host), PORT)
    this.#near = { socket: inside(client, () => connected(near, far)), peer: far }
    this.#far = { socket: inside(backends, () => connected(far, near)), peer: near }
  }

  /** Returns when the packet is back, or lost. */
  round(): void {
    this.#packet.writeUInt32LE(++this.#serial)
    if (this.#pass(this.#near, this.#far)) this.#pass(this.#far, this.#near)
  }

  #pass({ socket, peer }: End, to: End): boolean {
    const sent = libc.sendto(socket, this.#packet, 8n, 0, peer, peer.length)
    checked(Number(sent), 'sendto of a packet')
    // A packet that was given up may still arrive.
    do {
      if (libc.recv(to.socket, this.#received, 8n, 0) < 0n) return false
    } while (this.#received.readUInt32LE(0) !== this.#serial)
    return true
  }
}

function connected(own: Buffer, peer: Buffer): number {
  const socket = checked(libc.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), 'socket')
  const timeout = timeval(TIMEOUT_MS)
  libc.setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, timeout, timeout.length)
  checked(libc.bind(socket, own, own.length), 'bind')
  checked(libc.connect(socket, peer, peer.length), 'connect')
  return socket
}
