import { ERRNO, MSG } from './constants.ts'
import { SOCKET_ADDRESS_BYTES, type SocketAddress } from './socket-address.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

/** The maximum number of datagrams that one system call moves. */
const SLOTS = 64
/** The size of the payload of a slot. The rest of a longer datagram is lost. */
const PAYLOAD_BYTES = 2_048

/** `struct mmsghdr` on a 64-bit machine: its size, and the offsets of its fields. `moved` counts bytes. */
const HEADER_BYTES = 64
const HEADER = { name: 0, nameLength: 8, vector: 16, vectorCount: 24, moved: 56 } as const
/** `struct iovec`, a pointer and a length: its size, and the offset of the length. */
const VECTOR_BYTES = 16
const VECTOR_LENGTH = 8
/** The space of a slot for an address: `SOCKET_ADDRESS_BYTES`, rounded up for alignment. */
const ADDRESS_BYTES = 32

/** Offsets of the parts; each part holds those of all slots, and the headers are the first one. */
const VECTORS_AT = SLOTS * HEADER_BYTES
const ADDRESSES_AT = VECTORS_AT + SLOTS * VECTOR_BYTES
const PAYLOADS_AT = ADDRESSES_AT + SLOTS * ADDRESS_BYTES
const ALL_BYTES = PAYLOADS_AT + SLOTS * PAYLOAD_BYTES

/**
 * Receives and answers many datagrams with two system calls (recvmmsg, sendmmsg). Datagrams of a batch are numbered
 * from 0; what `message` and `sender` return is overwritten by the next batch.
 */
export class DatagramBatch {
  readonly #sys: Syscalls
  readonly #received: NativeMemory
  readonly #answers: NativeMemory
  #answered = 0

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#received = slots(sys)
    this.#answers = slots(sys)
  }

  /** The maximum number of datagrams in a batch. */
  get size(): number {
    return SLOTS
  }

  /** Receives the waiting datagrams; returns their number, or -1 on failure. Discards answers that were not sent. */
  receive(socket: number): number {
    const { view, address } = this.#received
    for (let slot = 0; slot < SLOTS; slot += 1) {
      view.setUint32(slot * HEADER_BYTES + HEADER.nameLength, SOCKET_ADDRESS_BYTES, true)
    }
    this.#answered = 0
    return this.#sys.recvmmsg(socket, address, SLOTS, MSG.dontWait, null)
  }

  /** The payload of a datagram. */
  message(index: number): Buffer {
    const length = this.#received.view.getUint32(index * HEADER_BYTES + HEADER.moved, true)
    const start = PAYLOADS_AT + index * PAYLOAD_BYTES
    return this.#received.bytes.subarray(start, start + length)
  }

  /** The sender of a datagram. */
  sender(index: number): SocketAddress {
    const { view, bytes } = this.#received
    const start = ADDRESSES_AT + index * ADDRESS_BYTES
    const length = view.getUint32(index * HEADER_BYTES + HEADER.nameLength, true)
    return bytes.subarray(start, start + length)
  }

  /** Adds a datagram to the sender of datagram `index`, for `send`. Throws RangeError when it is too long. */
  answer(index: number, payload: Uint8Array): void {
    checkLength(payload)
    if (this.#answered === SLOTS) throw new RangeError(`more than ${SLOTS} answers to a batch`)
    const { view, bytes } = this.#answers
    const slot = this.#answered
    const name = this.sender(index)
    bytes.set(name, ADDRESSES_AT + slot * ADDRESS_BYTES)
    bytes.set(payload, PAYLOADS_AT + slot * PAYLOAD_BYTES)
    view.setUint32(slot * HEADER_BYTES + HEADER.nameLength, name.length, true)
    view.setUint32(VECTORS_AT + slot * VECTOR_BYTES + VECTOR_LENGTH, payload.length, true)
    this.#answered += 1
  }

  /**
   * Sends the answers. One that the kernel refuses is left out; those that do not fit into its buffer are lost, as
   * datagrams are on any full link. Returns how many were sent.
   */
  send(socket: number): number {
    let next = 0
    let sent = 0
    while (next < this.#answered) {
      const first = this.#answers.address + BigInt(next * HEADER_BYTES)
      const count = this.#sys.sendmmsg(socket, first, this.#answered - next, MSG.noSignal)
      if (count < 0 && this.#sys.errno() === ERRNO.again) break
      if (count < 0 && this.#sys.errno() === ERRNO.interrupted) continue
      sent += Math.max(count, 0)
      next += count > 0 ? count : 1
    }
    this.#answered = 0
    return sent
  }

  /** Sends one datagram to any address, and discards answers that were not sent; false if the kernel refused it. */
  sendTo(socket: number, payload: Uint8Array, to: SocketAddress): boolean {
    checkLength(payload)
    const { bytes, address } = this.#answers
    this.#answered = 0
    bytes.set(to, ADDRESSES_AT)
    bytes.set(payload, PAYLOADS_AT)
    const [data, name] = [address + BigInt(PAYLOADS_AT), address + BigInt(ADDRESSES_AT)]
    return this.#sys.sendto(socket, data, payload.length, MSG.noSignal, name, to.length) >= 0
  }
}

function checkLength({ length }: Uint8Array): void {
  if (length > PAYLOAD_BYTES)
    throw new RangeError(`a datagram of ${length} bytes, more than ${PAYLOAD_BYTES}`)
}

/** The memory of a batch, with headers that point to its own addresses and payloads. */
function slots(sys: Syscalls): NativeMemory {
  const memory = sys.allocate(ALL_BYTES)
  const { view, address } = memory
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const header = slot * HEADER_BYTES
    const vector = VECTORS_AT + slot * VECTOR_BYTES
    view.setBigUint64(
      header + HEADER.name,
      address + BigInt(ADDRESSES_AT + slot * ADDRESS_BYTES),
      true,
    )
    view.setBigUint64(header + HEADER.vector, address + BigInt(vector), true)
    view.setBigUint64(header + HEADER.vectorCount, 1n, true)
    view.setBigUint64(vector, address + BigInt(PAYLOADS_AT + slot * PAYLOAD_BYTES), true)
    view.setBigUint64(vector + VECTOR_LENGTH, BigInt(PAYLOAD_BYTES), true)
  }
  return memory
}
