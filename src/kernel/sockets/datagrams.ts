import { MSG, OPTION } from './constants.ts'
import { AF_INET6, ipPart, SOCKET_ADDRESS_BYTES, type SocketAddress } from './socket-address.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

/** The largest UDP payload. */
export const DATAGRAM_BYTES = 65_535

/** `struct msghdr` and `struct iovec` of a 64-bit machine, and what they point to. */
const AT = {
  header: 0,
  name: { pointer: 0, length: 8 },
  vector: { pointer: 16, count: 24 },
  control: { pointer: 32, length: 40 },
  iovec: 56,
  source: 80,
  controlData: 112,
  payload: 256,
} as const
const CONTROL_BYTES = 128
/** Of `struct cmsghdr`: length (8), level (4), type (4). */
const CONTROL_HEADER = 16

/** linux/in.h, linux/in6.h: level and type. */
const PACKET_INFO_4 = [0, 8] as const
const PACKET_INFO_6 = [41, 50] as const

/** Of an answer. */
export interface Ends {
  readonly from: SocketAddress
  readonly to: SocketAddress
}

/** Reads and writes datagrams with their addresses; each call overwrites what the last one left. */
export class Datagrams {
  readonly #sys: Syscalls
  readonly #memory: NativeMemory
  readonly #payload: bigint
  readonly #source: bigint

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#memory = sys.allocate(AT.payload + DATAGRAM_BYTES)
    const { view, address } = this.#memory
    this.#payload = address + BigInt(AT.payload)
    this.#source = address + BigInt(AT.source)
    view.setBigUint64(AT.name.pointer, this.#source, true)
    view.setBigUint64(AT.vector.pointer, address + BigInt(AT.iovec), true)
    view.setBigUint64(AT.vector.count, 1n, true)
    view.setBigUint64(AT.control.pointer, address + BigInt(AT.controlData), true)
    view.setBigUint64(AT.iovec, this.#payload, true)
    view.setBigUint64(AT.iovec + 8, BigInt(DATAGRAM_BYTES), true)
  }

  /** Of the last call that returned -1. */
  errno(): number {
    return this.#sys.errno()
  }

  /** Payload of the next datagram in bytes, or -1. */
  receive(socket: number): number {
    const { view, address } = this.#memory
    view.setUint32(AT.name.length, SOCKET_ADDRESS_BYTES, true)
    view.setBigUint64(AT.control.length, BigInt(CONTROL_BYTES), true)
    return this.#sys.recvmsg(socket, address, 0)
  }

  /** Who sent it: a view. */
  get source(): SocketAddress {
    const length = this.#memory.view.getUint32(AT.name.length, true)
    return this.#memory.bytes.subarray(AT.source, AT.source + length)
  }

  /** Whom it is addressed to, after rules of this node have translated it: a view. */
  get destination(): SocketAddress | undefined {
    const { view, bytes } = this.#memory
    const end = AT.controlData + Number(view.getBigUint64(AT.control.length, true))
    for (let at = AT.controlData; at + CONTROL_HEADER <= end; ) {
      const length = Number(view.getBigUint64(at, true))
      if (length < CONTROL_HEADER) return undefined
      const name = [view.getInt32(at + 8, true), view.getInt32(at + 12, true)]
      if (isDestination(name)) return bytes.subarray(at + CONTROL_HEADER, at + length)
      at += Math.ceil(length / 8) * 8
    }
    return undefined
  }

  /** What was received last. */
  copy(length: number): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#memory.bytes, AT.payload, AT.payload + length)
  }

  /** As if it had been received. */
  load(payload: Uint8Array): void {
    this.#memory.bytes.set(payload, AT.payload)
  }

  /** Payload of a datagram from a connected socket in bytes, or -1. */
  receiveConnected(socket: number): number {
    return this.#sys.recv(socket, this.#payload, DATAGRAM_BYTES, 0)
  }

  /** Passes on what was received last, by a connected socket; -1 is a failure. */
  pass(socket: number, length: number): number {
    return this.#sys.send(socket, this.#payload, length, MSG.noSignal)
  }

  /** Passes on what was received last, from an address that the socket may use. */
  passTo(socket: number, length: number, { from, to }: Ends): number {
    const { view, bytes, address } = this.#memory
    bytes.set(to, AT.source)
    view.setUint32(AT.name.length, to[0] === AF_INET6 ? SOCKET_ADDRESS_BYTES : 16, true)
    view.setBigUint64(AT.iovec + 8, BigInt(length), true)
    view.setBigUint64(AT.control.length, BigInt(this.#setSource(ipPart(from))), true)
    const sent = this.#sys.sendmsg(socket, address, MSG.noSignal)
    view.setBigUint64(AT.iovec + 8, BigInt(DATAGRAM_BYTES), true)
    return sent
  }

  /** `struct in_pktinfo` (interface, address to send from, …) or `in6_pktinfo`; returns its size. */
  #setSource(ip: Uint8Array): number {
    const { view, bytes } = this.#memory
    const isSix = ip.length === 16
    const length = isSix ? 20 : 12
    bytes.fill(0, AT.controlData, AT.controlData + CONTROL_BYTES)
    view.setBigUint64(AT.controlData, BigInt(CONTROL_HEADER + length), true)
    const [level, type] = isSix ? PACKET_INFO_6 : PACKET_INFO_4
    view.setInt32(AT.controlData + 8, level, true)
    view.setInt32(AT.controlData + 12, type, true)
    bytes.set(ip, AT.controlData + CONTROL_HEADER + (isSix ? 0 : 4))
    return CONTROL_HEADER + Math.ceil(length / 8) * 8
  }
}

function isDestination([level, type]: readonly number[]): boolean {
  return [OPTION.destination4, OPTION.destination6].some(
    ([wantedLevel, wantedType]) => wantedLevel === level && wantedType === type,
  )
}
