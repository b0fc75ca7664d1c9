import { align } from './message.ts'

const HEADER = 4
const NESTED = 0x8000
/** Enough for most messages; from Buffer's pool, so that it costs next to nothing. */
const FIRST = 256

/**
 * Attributes written one behind the other into one buffer: for families of
 * which thousands of messages are sent, where a buffer per attribute would be
 * most of the cost. Numbers are in the host's byte order.
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

  /** In network byte order. */
  be32(type: number, value: number): this {
    const at = this.#begin(type, 4)
    this.#bytes.writeInt32BE(value | 0, at)
    return this
  }

  /** In network byte order. */
  be64(type: number, value: bigint): this {
    const at = this.#begin(type, 8)
    this.#bytes.writeBigUInt64BE(value, at)
    return this
  }

  /** In network byte order. */
  port(type: number, port: number): this {
    const at = this.#begin(type, 2)
    this.#bytes.writeUInt16BE(port, at)
    return this
  }

  /** With the NUL that ends it. */
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

  /** Begins an attribute that holds others; `close` takes what it returns. For the inside of loops. */
  open(type: number): number {
    return this.#begin(type | NESTED, 0) - HEADER
  }

  close(opened: number): this {
    this.#bytes.writeUInt16LE(this.#at - opened, opened)
    return this
  }

  /** Bytes that were written so far. */
  get length(): number {
    return this.#at
  }

  /** Bytes of a header in front of the attributes. */
  header(...bytes: readonly number[]): this {
    this.#reserve(bytes.length)
    for (const byte of bytes) this.#bytes.writeUInt8(byte, this.#at++)
    return this
  }

  /** What was written; a view. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }

  /** Writes the header of an attribute, zeros for its value, and returns where the value goes. */
  #begin(type: number, length: number): number {
    const at = this.#at
    const end = at + HEADER + align(length)
    this.#reserve(end - at)
    this.#bytes.writeUInt16LE(HEADER + length, at)
    this.#bytes.writeUInt16LE(type, at + 2)
    // a loop: `fill` costs more than it does for so few bytes
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
