import { MSG, OPTION } from './constants.ts'
import { AF_INET6, ipPart, SOCKET_ADDRESS_BYTES, type SocketAddress } from './socket-address.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

/** The size of the buffer for a payload. No UDP payload is larger. */
export const DATAGRAM_BYTES = 65_535

/**
 * Offsets in the buffer, in bytes: the fields of `struct msghdr` and `struct iovec` on a 64-bit machine, and the data
 * to which they point (socket address, control data, payload).
 */
const AT = {
  name: { pointer: 0, length: 8 },
  vector: { pointer: 16, count: 24 },
  control: { pointer: 32, length: 40 },
  iovec: 56,
  source: 80,
  controlData: 112,
  payload: 256,
} as const
/** The space for control data. */
const CONTROL_BYTES = 128
/** The size of `struct cmsghdr`: length (8 bytes), level (4), type (4). */
const CONTROL_HEADER = 16

/** Level and type of the control messages IP_PKTINFO and IPV6_PKTINFO (linux/in.h, linux/in6.h). */
const PACKET_INFO_4 = [0, 8] as const
const PACKET_INFO_6 = [41, 50] as const

/** The addresses of an answer. */
export interface AnswerAddresses {
  /** The source address that the client sees. Its port is not used: it is that of the socket. */
  readonly from: SocketAddress
  /** The client. */
  readonly to: SocketAddress
}

/** Receives and sends datagrams with their addresses. There is one buffer, which the next datagram overwrites. */
export class Datagrams {
  readonly #sys: Syscalls
  readonly #memory: NativeMemory
  /** The memory address of the payload. */
  readonly #payload: bigint

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#memory = sys.allocate(AT.payload + DATAGRAM_BYTES)
    const { view, address } = this.#memory
    this.#payload = address + BigInt(AT.payload)
    view.setBigUint64(AT.name.pointer, address + BigInt(AT.source), true)
    view.setBigUint64(AT.vector.pointer, address + BigInt(AT.iovec), true)
    view.setBigUint64(AT.vector.count, 1n, true)
    view.setBigUint64(AT.control.pointer, address + BigInt(AT.controlData), true)
    view.setBigUint64(AT.iovec, this.#payload, true)
    view.setBigUint64(AT.iovec + 8, BigInt(DATAGRAM_BYTES), true)
  }

  /** The error number of the last call that returned -1. */
  errno(): number {
    return this.#sys.errno()
  }

  /** Receives the next datagram; returns the size of its payload in bytes, or -1 (`errno`). */
  receive(socket: number): number {
    const { view, address } = this.#memory
    view.setUint32(AT.name.length, SOCKET_ADDRESS_BYTES, true)
    view.setBigUint64(AT.control.length, BigInt(CONTROL_BYTES), true)
    return this.#sys.recvmsg(socket, address, 0)
  }

  /** The sender of the datagram: a view of the buffer. */
  get source(): SocketAddress {
    const length = this.#memory.view.getUint32(AT.name.length, true)
    return this.#memory.bytes.subarray(AT.source, AT.source + length)
  }

  /**
   * The destination of the datagram, after rules of this node translated it: a view of the buffer. Undefined if the
   * socket does not have IP_RECVORIGDSTADDR or IPV6_RECVORIGDSTADDR.
   */
  get destination(): SocketAddress | undefined {
    const { view, bytes } = this.#memory
    const end = AT.controlData + Number(view.getBigUint64(AT.control.length, true))
    for (let at = AT.controlData; at + CONTROL_HEADER <= end; ) {
      const length = Number(view.getBigUint64(at, true))
      if (length < CONTROL_HEADER) return undefined
      const levelAndType = [view.getInt32(at + 8, true), view.getInt32(at + 12, true)]
      if (isDestination(levelAndType)) return bytes.subarray(at + CONTROL_HEADER, at + length)
      at += Math.ceil(length / 8) * 8
    }
    return undefined
  }

  /** A copy of the first `length` bytes of the payload. */
  copy(length: number): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#memory.bytes, AT.payload, AT.payload + length)
  }

  /** Puts a payload into the buffer, for `pass` and `passTo` to send. */
  load(payload: Uint8Array): void {
    this.#memory.bytes.set(payload, AT.payload)
  }

  /** Receives a datagram of a connected socket; returns the size of its payload in bytes, or -1 (`errno`). */
  receiveConnected(socket: number): number {
    return this.#sys.recv(socket, this.#payload, DATAGRAM_BYTES, 0)
  }

  /** Sends the payload to the peer of a connected socket; returns the bytes sent, or -1 (`errno`). */
  pass(socket: number, length: number): number {
    return this.#sys.send(socket, this.#payload, length, MSG.noSignal)
  }

  /**
   * Sends the payload to the client `to` with the source address `from`, which the socket must be allowed to use.
   * Returns the bytes sent, or -1 (`errno`).
   */
  passTo(socket: number, length: number, { from, to }: AnswerAddresses): number {
    const { view, bytes, address } = this.#memory
    bytes.set(to, AT.source)
    view.setUint32(AT.name.length, to[0] === AF_INET6 ? SOCKET_ADDRESS_BYTES : 16, true)
    view.setBigUint64(AT.iovec + 8, BigInt(length), true)
    view.setBigUint64(AT.control.length, BigInt(this.#setSource(ipPart(from))), true)
    const sent = this.#sys.sendmsg(socket, address, MSG.noSignal)
    view.setBigUint64(AT.iovec + 8, BigInt(DATAGRAM_BYTES), true)
    return sent
  }

  /** Writes the address to send from, as `struct in_pktinfo` or `in6_pktinfo`; returns the size of the control data. */
  #setSource(ip: Uint8Array): number {
    const { view, bytes } = this.#memory
    const isIpv6 = ip.length === 16
    // in6_pktinfo: address (16 bytes), interface index (4). in_pktinfo: interface index, source, destination (4 each).
    const length = isIpv6 ? 20 : 12
    bytes.fill(0, AT.controlData, AT.controlData + CONTROL_BYTES)
    view.setBigUint64(AT.controlData, BigInt(CONTROL_HEADER + length), true)
    const [level, type] = isIpv6 ? PACKET_INFO_6 : PACKET_INFO_4
    view.setInt32(AT.controlData + 8, level, true)
    view.setInt32(AT.controlData + 12, type, true)
    bytes.set(ip, AT.controlData + CONTROL_HEADER + (isIpv6 ? 0 : 4))
    return CONTROL_HEADER + Math.ceil(length / 8) * 8
  }
}

/** Whether level and type are those of a control message with the destination address. */
function isDestination([level, type]: readonly number[]): boolean {
  return [OPTION.destination4, OPTION.destination6].some(
    ([wantedLevel, wantedType]) => wantedLevel === level && wantedType === type,
  )
}
