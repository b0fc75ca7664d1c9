import { align } from '../../netlink/message.ts'

const HEADER = 4
/** The two upper bits of a type mean "nested" and "network byte order". */
const TYPE_MASK = 0x3fff

/** Visits the attributes of a list in their order, up to the first one with an impossible length; values are views. */
export function eachAttribute(
  bytes: Buffer,
  visit: (type: number, value: Buffer) => void,
  start = 0,
): void {
  for (let at = start; at + HEADER <= bytes.length; ) {
    const length = bytes.readUInt16LE(at)
    if (length < HEADER || at + length > bytes.length) return
    visit(bytes.readUInt16LE(at + 2) & TYPE_MASK, bytes.subarray(at + HEADER, at + length))
    at += align(length)
  }
}
