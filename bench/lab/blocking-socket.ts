import { AF_NETLINK, checked, libc, SOCK_CLOEXEC, SOCK_RAW } from './libc.ts'
import { inside } from './namespace.ts'

const SOL_SOCKET = 1
const SOL_NETLINK = 270
const SO_RCVTIMEO = 20
const SO_SNDBUFFORCE = 32
const SO_RCVBUFFORCE = 33
const NETLINK_ADD_MEMBERSHIP = 1
/** The size of the buffers for received data, and for one datagram to send. */
const BUFFER_BYTES = 64 << 20
/** More bytes than any datagram of the kernel has. */
const DATAGRAM_BYTES = 256 << 10
/** struct sockaddr_nl of the kernel, and of a socket that takes any port. */
const ADDRESS = Buffer.from([AF_NETLINK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

/** The namespace and protocol of a socket, and how long a read waits at most. */
export interface BlockingSocketOptions {
  readonly namespace: string
  /** linux/netlink.h. */
  readonly protocol: number
  readonly timeoutMs: number
}

/** A netlink socket of another namespace, used by blocking system calls without an event loop. */
export class BlockingSocket {
  readonly #socket: number
  readonly #received = Buffer.alloc(DATAGRAM_BYTES)

  constructor({ namespace, protocol, timeoutMs }: BlockingSocketOptions) {
    this.#socket = inside(namespace, () =>
      checked(libc.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), 'socket of netlink'),
    )
    checked(libc.bind(this.#socket, ADDRESS, ADDRESS.length), 'bind of netlink')
    const timeout = timeval(timeoutMs)
    libc.setsockopt(this.#socket, SOL_SOCKET, SO_RCVTIMEO, timeout, timeout.length)
    this.#set(SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES)
    this.#set(SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
  }

  join(group: number): void {
    checked(this.#set(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group), 'joining a group of netlink')
  }

  /** Sends one datagram; the kernel has processed it when this returns. */
  send(bytes: Buffer): void {
    const length = BigInt(bytes.length)
    const sent = libc.sendto(this.#socket, bytes, length, 0, ADDRESS, ADDRESS.length)
    checked(Number(sent), `sendto of ${bytes.length} bytes of netlink`)
  }

  /** A copy of the next datagram; undefined after the timeout, and once when datagrams were lost. */
  receive(): Buffer | undefined {
    const size = BigInt(this.#received.length)
    const length = Number(libc.recv(this.#socket, this.#received, size, 0))
    return length < 0 ? undefined : Buffer.from(this.#received.subarray(0, length))
  }

  close(): void {
    libc.close(this.#socket)
  }

  #set(level: number, option: number, value: number): number {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value)
    return libc.setsockopt(this.#socket, level, option, bytes, bytes.length)
  }
}

/** struct timeval. */
export function timeval(ms: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeBigInt64LE(BigInt(Math.floor(ms / 1_000)))
  bytes.writeBigInt64LE(BigInt((ms % 1_000) * 1_000), 8)
  return bytes
}
