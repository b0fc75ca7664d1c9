/** Numbers of the DNS wire format (RFC 1035, RFC 6891). */

export const HEADER_LENGTH = 12
/** The most bytes of a label, and of a name with its length octets and the empty label at its end (RFC 1035 §2.3.4). */
export const MAX_LABEL = 63
export const MAX_NAME = 255
/** Bytes of type and class behind the name of a question. */
export const QUESTION_TAIL = 4

/** Bits of the flags, the second 16-bit word of the header. */
export const FLAG = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
  recursionAvailable: 0x0080,
  /** RFC 4035: every record was validated. */
  authenticData: 0x0020,
  checkingDisabled: 0x0010,
} as const

/** The bits of the opcode among the flags of a header. */
export const OPCODE = 0x7800

/** What a compressed name has instead of a length octet (RFC 1035 §4.1.4); the offset is in the other 14 bits. */
export const POINTER = 0xc000

/** Bits of the flags in the TTL of an OPT record. */
export const DNSSEC_OK = 0x8000

export const RCODE = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  noSuchName: 3,
  notImplemented: 4,
  refused: 5,
  /** A code of 12 bits, whose upper eight are in the OPT record. */
  badVersion: 16,
} as const

export const CLASS = { internet: 1, any: 255 } as const
export const TYPE = {
  ns: 2,
  cname: 5,
  soa: 6,
  dname: 39,
  opt: 41,
  ds: 43,
  rrsig: 46,
  nsec: 47,
  nsec3: 50,
  incrementalTransfer: 251,
  transfer: 252,
  any: 255,
} as const

/** The datagram size, in bytes, for a client that does not offer more. */
export const MIN_DATAGRAM = 512
/** The maximum datagram size, in bytes: avoids fragmentation on today's paths (RFC 9715). */
export const MAX_DATAGRAM = 1232
/** A message at most: its length over TCP has 16 bits. */
export const MAX_MESSAGE = 65_535
/** Bytes of an OPT record without options. */
export const OPT_LENGTH = 11

/** The types that a zone answers for, and `ANY`; see `typeName`. */
const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'A'],
  [2, 'NS'],
  [5, 'CNAME'],
  [6, 'SOA'],
  [12, 'PTR'],
  [16, 'TXT'],
  [28, 'AAAA'],
  [33, 'SRV'],
  [255, 'ANY'],
])

/** The name of a type; `TYPE65` (RFC 3597) for a type that no zone here has records of. */
export function typeName(type: number): string {
  return TYPE_NAMES.get(type) ?? `TYPE${type}`
}
