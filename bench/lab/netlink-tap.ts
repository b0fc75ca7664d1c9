import { decodeMessages, type NetlinkMessage } from '../../src/kernel/netlink/message.ts'
import { checked, libc, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_RAW, timespecMs } from './libc.ts'
import { inside, ipBatch } from './namespace.ts'

const AF_PACKET = 17
/** ETH_P_ALL in network byte order. */
const EVERYTHING = 0x0300
const SOL_SOCKET = 1
const SO_RCVBUFFORCE = 33
const RECEIVE_BYTES = 16 << 20
/** Reads the time stamp of the last packet; the first use makes the kernel stamp packets. */
const SIOCGSTAMPNS = 0x8907n
const DEVICE = 'tap-netlink'

/** One datagram between a process and the kernel. */
export interface Captured {
  /** The time, by `kernelClock`. */
  readonly at: number
  readonly messages: readonly NetlinkMessage[]
}

/**
 * Captures all netlink messages of a namespace through a device of the kernel's module nlmon, with time stamps of the
 * kernel. The kernel processes messages while it receives them and answers at once, so no query is needed, and what is
 * measured is not disturbed.
 */
export class NetlinkTap {
  readonly #namespace: string
  readonly #socket: number
  readonly #buffer = Buffer.alloc(1 << 20)

  constructor(namespace: string) {
    this.#namespace = namespace
    ipBatch(namespace, [`link add ${DEVICE} type nlmon`, `link set ${DEVICE} up`])
    this.#socket = inside(namespace, listen)
  }

  /** The messages since the last call, in order. */
  read(): readonly Captured[] {
    const captured: Captured[] = []
    const stamp = Buffer.alloc(16)
    const size = BigInt(this.#buffer.length)
    for (;;) {
      const length = Number(libc.recv(this.#socket, this.#buffer, size, 0))
      if (length < 0) return captured
      libc.ioctl(this.#socket, SIOCGSTAMPNS, stamp)
      const bytes = Buffer.from(this.#buffer.subarray(0, length))
      captured.push({ at: timespecMs(stamp), messages: [...decodeMessages(bytes)] })
    }
  }

  close(): void {
    libc.close(this.#socket)
    ipBatch(this.#namespace, [`link del ${DEVICE}`])
  }
}

function listen(): number {
  const type = SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC
  const socket = checked(libc.socket(AF_PACKET, type, EVERYTHING), 'socket of packets')
  const size = Buffer.alloc(4)
  size.writeUInt32LE(RECEIVE_BYTES)
  libc.setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, size, 4)
  libc.ioctl(socket, SIOCGSTAMPNS, Buffer.alloc(16))
  const address = linkAddress(libc.if_nametoindex(Buffer.from(`${DEVICE}\0`)))
  checked(libc.bind(socket, address, address.length), 'bind to the tap')
  return socket
}

/** struct sockaddr_ll. */
function linkAddress(index: number): Buffer {
  const address = Buffer.alloc(20)
  address.writeUInt16LE(AF_PACKET, 0)
  address.writeUInt16LE(EVERYTHING, 2)
  address.writeUInt32LE(index, 4)
  return address
}
