import type { Family } from '../../lib/ip.ts'

/** Flags of a message header (linux/netlink.h). */
export const NLM_F_REQUEST = 0x1
export const NLM_F_ACK = 0x4
export const NLM_F_DUMP_INTR = 0x10
export const NLM_F_DUMP = 0x300

/** Message types that every family has. */
export const NLMSG_ERROR = 2
export const NLMSG_DONE = 3

const HEADER = 16

/** A message from the kernel: `struct nlmsghdr` and its payload. */
export interface NetlinkMessage {
  readonly type: number
  readonly flags: number
  readonly seq: number
  /** Port of the socket whose request caused the message; 0 stands for the kernel itself. */
  readonly port: number
  /** The bytes after the header; a view, valid as long as the datagram. */
  readonly payload: Buffer
}

/** A message to the kernel, without the fields that the session fills in. */
export interface OutgoingMessage {
  readonly type: number
  readonly flags: number
  readonly payload: Buffer
}

/**
 * `struct nlmsghdr` and the payload, padded to 4 bytes. All numbers are in the
 * host's byte order, which is little-endian on every platform Node supports
 * with a prebuilt netlink socket.
 */
export function encodeMessage(message: OutgoingMessage, seq: number): Buffer {
  return encodeMessages([message], seq)
}

/** Several messages in one datagram; the first has the sequence number `seq`, each further one the next number. */
export function encodeMessages(messages: readonly OutgoingMessage[], seq: number): Buffer {
  const lengths = messages.map(({ payload }) => align(HEADER + payload.length))
  const bytes = Buffer.alloc(lengths.reduce((sum, length) => sum + length, 0))
  let at = 0
  for (const [index, { type, flags, payload }] of messages.entries()) {
    bytes.writeUInt32LE(HEADER + payload.length, at)
    bytes.writeUInt16LE(type, at + 4)
    bytes.writeUInt16LE(flags, at + 6)
    bytes.writeUInt32LE(seq + index, at + 8)
    payload.copy(bytes, at + HEADER)
    at += lengths[index]!
  }
  return bytes
}

/** The messages of a datagram, up to the first one with an impossible length. */
export function* decodeMessages(datagram: Buffer): Generator<NetlinkMessage> {
  let at = 0
  while (at + HEADER <= datagram.length) {
    const length = datagram.readUInt32LE(at)
    if (length < HEADER || at + length > datagram.length) return
    yield {
      type: datagram.readUInt16LE(at + 4),
      flags: datagram.readUInt16LE(at + 6),
      seq: datagram.readUInt32LE(at + 8),
      port: datagram.readUInt32LE(at + 12),
      payload: datagram.subarray(at + HEADER, at + length),
    }
    at += align(length)
  }
}

/** The errno of an NLMSG_ERROR (0 is an acknowledgement) or NLMSG_DONE; never negative. */
export function errnoOf(message: NetlinkMessage): number {
  return message.payload.length < 4 ? 0 : Math.max(0, -message.payload.readInt32LE(0))
}

/** The next multiple of 4, to which messages and attributes are padded. */
export function align(length: number): number {
  return (length + 3) & ~3
}

/** linux/socket.h: AF_INET and AF_INET6. */
export const ADDRESS_FAMILY = { 4: 2, 6: 10 } as const

/** Undefined if it is neither IPv4 nor IPv6. */
export function familyOfNumber(number: number | undefined): Family | undefined {
  if (number === ADDRESS_FAMILY[4]) return 4
  return number === ADDRESS_FAMILY[6] ? 6 : undefined
}
