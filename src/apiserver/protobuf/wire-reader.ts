import { MAX_VALUES } from '../encoding/parse-json.ts'

/** Wire types, which say how the value after a tag is encoded. Groups (3 and 4) are not used by this API. */
export const VARINT = 0
export const FIXED64 = 1
export const BYTES = 2
export const FIXED32 = 5

export interface Tag {
  readonly number: number
  readonly wireType: number
}

/** The number of varint bytes whose bits a JavaScript number represents exactly, and the first value beyond them. */
const EXACT_BYTES = 7
const EXACT = 2 ** (7 * EXACT_BYTES)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the protobuf encoding from a range of bytes. Nothing outside the range
 * is read and nothing is copied; offsets in faults are those of the whole body.
 */
export class WireReader {
  readonly #bytes: Buffer
  #at: number
  readonly #end: number
  /** The number of tags read so far, shared by the readers of one body. */
  readonly #tally: { tags: number }

  constructor(bytes: Buffer, start = 0, end: number = bytes.length, tally = { tags: 0 }) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    this.#tally = tally
  }

  get offset(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  tag(): Tag {
    const start = this.#at
    if (++this.#tally.tags > MAX_VALUES) throw new WireFault(start, 'too many fields and items')
    const tag = this.varint()
    if (tag < 8 || tag >= 2 ** 32) throw new WireFault(start, 'not a field number')
    return { number: tag >>> 3, wireType: tag & 7 }
  }

  /** A varint as a signed number; only integers that a number holds exactly. */
  varint(): number {
    const start = this.#at
    let value = 0
    for (let scale = 1; scale < EXACT; scale *= 128) {
      const byte = this.#byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    const whole = BigInt.asIntN(64, BigInt(value) + this.#rest(start))
    const exact = Number(whole)
    if (!Number.isSafeInteger(exact)) throw new WireFault(start, 'the number is out of range')
    return exact
  }

  /** Reads a length and the bytes after it. */
  bytes(): Buffer {
    const { start, end } = this.#range()
    return this.#bytes.subarray(start, end)
  }

  /** Reads a length and returns a reader of the message after it. */
  message(): WireReader {
    const { start, end } = this.#range()
    return new WireReader(this.#bytes, start, end, this.#tally)
  }

  text(): string {
    const { start, end } = this.#range()
    if (isAscii(this.#bytes, start, end)) return this.#bytes.toString('latin1', start, end)
    try {
      return utf8.decode(this.#bytes.subarray(start, end))
    } catch {
      throw new WireFault(start, 'the text is not valid UTF-8')
    }
  }

  skip(wireType: number): void {
    if (wireType === VARINT) this.#skipVarint()
    else if (wireType === BYTES) this.#range()
    else if (wireType === FIXED64) this.#take(8)
    else if (wireType === FIXED32) this.#take(4)
    else throw new WireFault(this.#at, `wire type ${wireType} is not used by this API`)
  }

  #byte(): number {
    return this.#bytes[this.#take(1)]!
  }

  /** Reads the bytes of a varint after the first seven. */
  #rest(start: number): bigint {
    let value = 0n
    for (let index = EXACT_BYTES; index < 10; index++) {
      const byte = this.#byte()
      value += BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) return value
    }
    throw new WireFault(start, 'a number has more than ten bytes')
  }

  #skipVarint(): void {
    const start = this.#at
    for (let index = 0; index < 10; index++) if (this.#byte() < 0x80) return
    throw new WireFault(start, 'a number has more than ten bytes')
  }

  #range(): { readonly start: number; readonly end: number } {
    const length = this.varint()
    const start = this.#take(length)
    return { start, end: start + length }
  }

  #take(length: number): number {
    const start = this.#at
    if (length < 0 || length > this.#end - start) {
      throw new WireFault(start, `${length} bytes are announced, ${this.#end - start} follow`)
    }
    this.#at += length
    return start
  }
}

function isAscii(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return false
  return true
}

/** Thrown for invalid bytes; never leaves `decodeProtobuf`. */
export class WireFault extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}
