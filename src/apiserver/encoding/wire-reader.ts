import { isUtf8 } from 'node:buffer'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { MAX_VALUES } from './parse-json.ts'

/** How the value behind a tag is laid out; groups (3 and 4) are not used by this API. */
export const VARINT: number = WireType.Varint
export const FIXED64: number = WireType.Bit64
export const BYTES: number = WireType.LengthDelimited
export const FIXED32: number = WireType.Bit32

export interface Tag {
  readonly number: number
  readonly wireType: number
}

/** What the readers of one body share. */
interface Shared {
  readonly varints: BinaryReader
  tags: number
}

const MAX_VARINT_BYTES = 10

/**
 * Reads the protobuf encoding from a range of bytes. Nothing outside the range is returned and nothing is copied;
 * offsets in faults are those of the whole body.
 *
 * `BinaryReader` decodes the varints, and nothing else: its `bytes`, `string` and `skip` reduce lengths modulo 2^32,
 * its `int32` reduces numbers so, and its `skip` accepts groups and varints of any length.
 */
export class WireReader {
  readonly #bytes: Buffer
  #at: number
  readonly #end: number
  readonly #shared: Shared

  constructor(
    bytes: Buffer,
    start = 0,
    end: number = bytes.length,
    shared: Shared = { varints: new BinaryReader(bytes), tags: 0 },
  ) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    this.#shared = shared
  }

  get offset(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  tag(): Tag {
    const start = this.#at
    if (++this.#shared.tags > MAX_VALUES) throw new WireFault(start, 'too many fields and items')
    const tag = this.varint()
    if (tag < 8 || tag >= 2 ** 32) throw new WireFault(start, 'not a field number')
    return { number: tag >>> 3, wireType: tag & 7 }
  }

  /** A varint as a signed number; only integers that a number holds exactly. */
  varint(): number {
    const start = this.#at
    const exact = Number(this.#varint64())
    if (!Number.isSafeInteger(exact)) throw new WireFault(start, 'the number is out of range')
    return exact
  }

  /** Reads a length and the bytes after it. */
  bytes(): Buffer {
    const start = this.#take(this.varint())
    return this.#bytes.subarray(start, this.#at)
  }

  /** Reads a length and returns a reader of the message after it. */
  message(): WireReader {
    const start = this.#take(this.varint())
    return new WireReader(this.#bytes, start, this.#at, this.#shared)
  }

  text(): string {
    const bytes = this.bytes()
    if (isUtf8(bytes)) return bytes.toString()
    throw new WireFault(this.#at - bytes.length, 'the text is not valid UTF-8')
  }

  skip(wireType: number): void {
    if (wireType === VARINT) this.#varint64()
    else if (wireType === BYTES) this.#take(this.varint())
    else if (wireType === FIXED64) this.#take(8)
    else if (wireType === FIXED32) this.#take(4)
    else throw new WireFault(this.#at, `wire type ${wireType} is not used by this API`)
  }

  /** A varint, reduced to a signed number of 64 bits. */
  #varint64(): number | bigint | string {
    const { varints } = this.#shared
    const start = this.#at
    varints.pos = start
    const value = decodeVarint(varints)
    if (value !== undefined && varints.pos <= this.#end) {
      this.#at = varints.pos
      return value
    }
    if (this.#end - start < MAX_VARINT_BYTES) throw cutOff(this.#end, 1, 0)
    throw new WireFault(start, 'a number has more than ten bytes')
  }

  /** Passes bytes, and returns where they begin. */
  #take(length: number): number {
    const start = this.#at
    const left = this.#end - start
    if (length < 0 || length > left) throw cutOff(start, length, left)
    this.#at += length
    return start
  }
}

/** Undefined when it has more than ten bytes, or when the body ends before it does. */
function decodeVarint(reader: BinaryReader): number | bigint | string | undefined {
  const start = reader.pos
  try {
    const low = reader.uint32()
    // Four bytes hold 28 bits. Of more, `uint32` drops the upper ones; `int64` makes a bigint of each number.
    if (reader.pos - start <= 4) return low
    reader.pos = start
    return reader.int64()
  } catch {
    return undefined
  }
}

function cutOff(offset: number, announced: number, left: number): WireFault {
  return new WireFault(offset, `${announced} bytes are announced, ${left} follow`)
}

/** Thrown for invalid bytes; never leaves `decodeProtobuf`. */
export class WireFault extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}
