import { readName } from './wire-name.ts'

const HEADER_BYTES = 12

/** The header of a reply with its question (RFC 1035 §4.1.1). */
export interface ReplyHeader {
  readonly id: number
  readonly isResponse: boolean
  readonly opcode: number
  readonly isTruncated: boolean
  /** The AD bit (RFC 4035): the upstream validated every record. */
  readonly isAuthentic: boolean
  /** The four bits of the header; EDNS may add more. */
  readonly rcode: number
  /** Undefined when the message repeats none. */
  readonly question: HeaderQuestion | undefined
  /** Records that the message claims to have. */
  readonly counts: Readonly<Record<'answers' | 'authorities' | 'additionals', number>>
  /** The offset of the first record. */
  readonly end: number
}

/** The question that a message repeats. */
export interface HeaderQuestion {
  /** The name on the wire, without compression. */
  readonly name: Buffer
  readonly type: number
  readonly klass: number
}

/** Header and question of a message; undefined when they are malformed or there are several questions. */
export function readHeader(message: Buffer): ReplyHeader | undefined {
  if (message.length < HEADER_BYTES) return undefined
  const questions = message.readUInt16BE(4)
  if (questions > 1) return undefined
  const name = questions === 0 ? undefined : readName(message, HEADER_BYTES)
  const end = name === undefined ? HEADER_BYTES : name.end + 4
  if ((questions === 1 && name === undefined) || end > message.length) return undefined
  const question = name && {
    name: name.wire,
    type: message.readUInt16BE(name.end),
    klass: message.readUInt16BE(name.end + 2),
  }
  return { ...flagsOf(message), question, end }
}

function flagsOf(message: Buffer): Omit<ReplyHeader, 'question' | 'end'> {
  const flags = message.readUInt16BE(2)
  return {
    id: message.readUInt16BE(0),
    isResponse: (flags & 0x8000) !== 0,
    opcode: (flags >> 11) & 0xf,
    isTruncated: (flags & 0x0200) !== 0,
    isAuthentic: (flags & 0x0020) !== 0,
    rcode: flags & 0xf,
    counts: {
      answers: message.readUInt16BE(6),
      authorities: message.readUInt16BE(8),
      additionals: message.readUInt16BE(10),
    },
  }
}
