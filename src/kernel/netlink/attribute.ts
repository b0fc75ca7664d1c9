import { align } from './message.ts'

/** The two upper bits of a type mean "nested" and "network byte order". */
const TYPE_MASK = 0x3fff
const NESTED = 0x8000
const HEADER = 4

/** `struct nlattr` with its value, padded to 4 bytes. */
export function encodeAttribute(type: number, value: Buffer): Buffer {
  const length = HEADER + value.length
  const bytes = Buffer.alloc(align(length))
  bytes.writeUInt16LE(length, 0)
  bytes.writeUInt16LE(type, 2)
  value.copy(bytes, HEADER)
  return bytes
}

/** An attribute that holds other attributes. */
export function nest(type: number, ...attributes: readonly Buffer[]): Buffer {
  return encodeAttribute(type | NESTED, Buffer.concat(attributes))
}

/** A number of 32 bits in the host's byte order. */
export function host32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** The value of the first attribute of a type, or undefined; a view, nothing is copied. */
export function findAttribute(bytes: Buffer, wanted: number, start = 0): Buffer | undefined {
  const at = locateAttribute(bytes, wanted, { start, end: bytes.length })
  return at < 0 ? undefined : bytes.subarray(at, at + valueLength(bytes, at))
}

/** Where the value of the first attribute of a type begins between two offsets, or -1. */
export function locateAttribute(
  bytes: Buffer,
  wanted: number,
  range: { readonly start: number; readonly end: number },
): number {
  let at = range.start
  while (at + HEADER <= range.end) {
    const length = bytes.readUInt16LE(at)
    if (length < HEADER || at + length > range.end) return -1
    if ((bytes.readUInt16LE(at + 2) & TYPE_MASK) === wanted) return at + HEADER
    at += align(length)
  }
  return -1
}

/** Length of a value that `locateAttribute` found. */
export function valueLength(bytes: Buffer, at: number): number {
  return bytes.readUInt16LE(at - HEADER) - HEADER
}

/** The number of 16 bits, in the host's byte order, in the first attribute of a type. */
export function findU16(bytes: Buffer, wanted: number): number | undefined {
  const at = locateSized(bytes, wanted, 2)
  return at < 0 ? undefined : bytes.readUInt16LE(at)
}

/** The number of 32 bits, in the host's byte order, in the first attribute of a type. */
export function findU32(bytes: Buffer, wanted: number): number | undefined {
  const at = locateSized(bytes, wanted, 4)
  return at < 0 ? undefined : bytes.readUInt32LE(at)
}

/** The port, in network byte order, in the first attribute of a type. */
export function findPort(bytes: Buffer, wanted: number): number | undefined {
  const at = locateSized(bytes, wanted, 2)
  return at < 0 ? undefined : bytes.readUInt16BE(at)
}

function locateSized(bytes: Buffer, wanted: number, size: number): number {
  const at = locateAttribute(bytes, wanted, { start: 0, end: bytes.length })
  return at >= 0 && valueLength(bytes, at) === size ? at : -1
}

/** The text in the first attribute of a type, from `start`. */
export function findText(bytes: Buffer, wanted: number, start = 0): string | undefined {
  const value = findAttribute(bytes, wanted, start)
  return value && attributeText(value)
}

/** Text without the NUL that ends it. */
export function attributeText(value: Buffer): string {
  const end = value.indexOf(0)
  return value.toString('latin1', 0, end < 0 ? value.length : end)
}
