import { align } from '../netlink/message.ts'

/** Upper bits of an attribute's type: it holds attributes; it is in network byte order. */
const NESTED = 0x8000
const NETWORK_ORDER = 0x4000
const HEADER = 4
/** The longest command has some 180 bytes: names are short and members have few parts. */
const CAPACITY = 256

/**
 * Writes attributes into one piece of memory, each after the other. A piece for
 * every attribute, put together afterwards, takes five times as long, and a cold
 * start says this tens of thousands of times.
 */
export class AttributeWriter {
  readonly #bytes: Buffer
  #at = 0

  /** `bytes` may hold anything: every byte of the result is written. */
  constructor(bytes: Buffer = Buffer.allocUnsafe(CAPACITY)) {
    this.#bytes = bytes
  }

  /** What was written. */
  take(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }

  raw(value: Uint8Array): this {
    this.#bytes.set(value, this.#at)
    this.#at += value.length
    return this
  }

  byte(type: number, value: number): this {
    this.#bytes.writeUInt8(value, this.#start(type, 1))
    return this
  }

  number16(type: number, value: number): this {
    this.#bytes.writeUInt16BE(value, this.#start(type | NETWORK_ORDER, 2))
    return this
  }

  number32(type: number, value: number): this {
    this.#bytes.writeUInt32BE(value, this.#start(type | NETWORK_ORDER, 4))
    return this
  }

  /** Two numbers of 32 bits that the kernel reads as one of 64. */
  number64(type: number, upper: number, lower: number): this {
    const at = this.#start(type | NETWORK_ORDER, 8)
    this.#bytes.writeUInt32BE(upper, at)
    this.#bytes.writeUInt32BE(lower, at + 4)
    return this
  }

  address(type: number, value: Uint8Array): this {
    this.#bytes.set(value, this.#start(type | NETWORK_ORDER, value.length))
    return this
  }

  text(type: number, value: string): this {
    const at = this.#start(type, value.length + 1)
    this.#bytes.write(value, at, 'latin1')
    this.#bytes.writeUInt8(0, at + value.length)
    return this
  }

  /** What `write` writes becomes the value of one attribute. */
  nest(type: number, write: () => void): this {
    const start = this.#at
    this.#at += HEADER
    write()
    this.#header(start, type | NESTED, this.#at - start)
    return this
  }

  /** Makes room for a value and returns where it goes; its padding is zero. */
  #start(type: number, length: number): number {
    const start = this.#at
    this.#at += HEADER + align(length)
    if (this.#at > this.#bytes.length) throw new RangeError('an ipset command is too long')
    if (length % 4 !== 0) this.#bytes.writeUInt32LE(0, this.#at - 4)
    this.#header(start, type, HEADER + length)
    return start + HEADER
  }

  #header(at: number, type: number, length: number): void {
    this.#bytes.writeUInt16LE(length, at)
    this.#bytes.writeUInt16LE(type, at + 2)
  }
}
