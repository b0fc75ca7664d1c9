import { align } from './message.ts'

const HEADER = 4
const NESTED = 0x8000
/** Large enough for most messages; taken from Buffer's pool, which costs almost nothing. */
const FIRST = 256

/**
 * Writes attributes one after another into one buffer. It is meant for families to which thousands of messages are
 * sent: a buffer for each attribute would be most of the cost. Numbers are in the host's byte order.
 */
export class AttributeWriter {
  #bytes = Buffer.allocUnsafe(FIRST)
  #at = 0

  u16(type: number, value: number): this {
    const at = this.#begin(type, 2)
    this.#bytes.writeUInt16LE(value, at)
    return this
  }

  u32(type: number, value: number): this {
    const at = this.#begin(type, 4)
    this.#bytes.writeUInt32LE(value, at)
    return this
  }

  u8(type: number, value: number): this {
    this.#bytes[this.#begin(type, 1)] = value
    return this
  }

  /** A 32-bit number in network byte order. */
  be32(type: number, value: number): this {
    const at = this.#begin(type, 4)
    this.#bytes.writeInt32BE(value | 0, at)
    return this
  }

  /** A 64-bit number in network byte order. */
  be64(type: number, value: bigint): this {
    const at = this.#begin(type, 8)
    this.#bytes.writeBigUInt64BE(value, at)
    return this
  }

  /** A 16-bit number in network byte order. */
  be16(type: number, value: number): this {
    const at = this.#begin(type, 2)
    this.#bytes.writeUInt16BE(value, at)
    return this
  }

  /** A text with the NUL that ends it. */
  text(type: number, text: string): this {
    const at = this.#begin(type, Buffer.byteLength(text) + 1)
    this.#bytes.write(text, at)
    return this
  }

  /** Zeros follow the value until it is `length` bytes long. */
  bytes(type: number, value: Uint8Array, length = value.length): this {
    const at = this.#begin(type, length)
    this.#bytes.set(value, at)
    return this
  }

  nest(type: number, write: (inner: this) => void): this {
    const at = this.open(type)
    write(this)
    return this.close(at)
  }

  /** Begins an attribute that holds others and returns a position for `close`. For use inside loops. */
  open(type: number): number {
    return this.#begin(type | NESTED, 0) - HEADER
  }

  close(opened: number): this {
    this.#bytes.writeUInt16LE(this.#at - opened, opened)
    return this
  }

  /** The number of bytes written so far. */
  get length(): number {
    return this.#at
  }

  /** Bytes of a header in front of the attributes. */
  header(...bytes: readonly number[]): this {
    this.#reserve(bytes.length)
    for (const byte of bytes) this.#bytes.writeUInt8(byte, this.#at++)
    return this
  }

  /** The bytes written so far; a view. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }

  /** Writes the header of an attribute and zeros for its value; returns the position of the value. */
  #begin(type: number, length: number): number {
    const at = this.#at
    const end = at + HEADER + align(length)
    this.#reserve(end - at)
    this.#bytes.writeUInt16LE(HEADER + length, at)
    this.#bytes.writeUInt16LE(type, at + 2)
    // a loop, because `fill` is slower for so few bytes
    for (let zero = at + HEADER; zero < end; zero++) this.#bytes[zero] = 0
    this.#at = end
    return at + HEADER
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.#at + length))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}
