import { readName } from '../../wire/name.ts'
import { FLAG, HEADER_LENGTH } from '../../wire/numbers.ts'

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

const ONE_NAME: NameLayout = { fixed: 0, names: 1 }

/** Types whose data may hold compressed names (RFC 1035 §3.3, RFC 3597 §4). */
const LAYOUTS: ReadonlyMap<number, NameLayout> = new Map([
  // NS, MD, MF, CNAME, MB, MG, MR, PTR, NXT, DNAME, NSEC
  ...[2, 3, 4, 5, 7, 8, 9, 12, 30, 39, 47].map((type) => [type, ONE_NAME] as const),
  // SOA, MINFO, RP
  ...[6, 14, 17].map((type) => [type, { fixed: 0, names: 2 }] as const),
  // MX, AFSDB, RT, KX
  ...[15, 18, 21, 36].map((type) => [type, { fixed: 2, names: 1 }] as const),
  // SIG, RRSIG
  ...[24, 46].map((type) => [type, { fixed: 18, names: 1 }] as const),
  // PX
  [26, { fixed: 2, names: 2 }],
  // SRV
  [33, { fixed: 6, names: 1 }],
  // NAPTR
  [35, { fixed: 4, strings: 3, names: 1 }],
])

const FIXED_BYTES = 10

/** A record without compression. */
export interface WireRecord {
  /** The owner's name on the wire. */
  readonly owner: Buffer
  readonly type: number
  readonly klass: number
  /** Seconds, as in the message: 32 bits, unsigned. */
  readonly ttl: number
  readonly rdata: Buffer
}

/** The records of a message. */
export interface Sections {
  readonly answers: readonly WireRecord[]
  readonly authorities: readonly WireRecord[]
  readonly additionals: readonly WireRecord[]
}

/** All records of a message; undefined when one is malformed or missing. Bytes behind the last one are ignored. */
export function readSections(message: Buffer, header: ReplyHeader): Sections | undefined {
  let at = header.end
  const read = (count: number): WireRecord[] | undefined => {
    const records: WireRecord[] = []
    for (let index = 0; index < count; index++) {
      const found = readRecord(message, at)
      if (found === undefined) return undefined
      records.push(found.record)
      at = found.end
    }
    return records
  }
  const answers = read(header.counts.answers)
  const authorities = answers && read(header.counts.authorities)
  const additionals = authorities && read(header.counts.additionals)
  return answers && authorities && additionals && { answers, authorities, additionals }
}

/** Bytes that the record takes in a message without compression. */
export function wireLength({ owner, rdata }: WireRecord): number {
  return owner.length + FIXED_BYTES + rdata.length
}

/** The record as bytes of a message without compression. */
export function encodeRecord({ owner, type, klass, ttl, rdata }: WireRecord): Buffer {
  const fixed = Buffer.alloc(FIXED_BYTES)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(klass, 2)
  fixed.writeUInt32BE(ttl, 4)
  fixed.writeUInt16BE(rdata.length, 8)
  return Buffer.concat([owner, fixed, rdata])
}

function readRecord(
  message: Buffer,
  start: number,
): { record: WireRecord; end: number } | undefined {
  const owner = readName(message, start)
  const dataStart = (owner?.end ?? message.length) + FIXED_BYTES
  if (owner === undefined || dataStart > message.length) return undefined
  const type = message.readUInt16BE(owner.end)
  const end = dataStart + message.readUInt16BE(owner.end + 8)
  if (end > message.length) return undefined
  const rdata = readRdata(message, { type, start: dataStart, end })
  if (rdata === undefined) return undefined
  const [klass, ttl] = [message.readUInt16BE(owner.end + 2), message.readUInt32BE(owner.end + 4)]
  return { record: { owner: owner.wire, type, klass, ttl, rdata }, end }
}

/** Where names stand in the data of a record: behind `fixed` bytes and `strings` character strings. */
interface NameLayout {
  readonly fixed: number
  readonly strings?: number
  readonly names: number
}

/** The data of a record: from `start` to before `end`, inside the message. */
interface RdataRange {
  readonly type: number
  readonly start: number
  readonly end: number
}

/** The data without compression, in memory that may be the message's; undefined when it is malformed. */
function readRdata(message: Buffer, { type, start, end }: RdataRange): Buffer | undefined {
  const layout = LAYOUTS.get(type)
  if (layout === undefined) return message.subarray(start, end)
  let at = start + layout.fixed
  for (let strings = layout.strings ?? 0; strings > 0 && at < end; strings--) {
    at += 1 + message[at]!
  }
  const parts = [message.subarray(start, at)]
  for (let names = layout.names; names > 0; names--) {
    const name = readName(message, at)
    if (name === undefined || name.end > end) return undefined
    parts.push(name.wire)
    at = name.end
  }
  parts.push(message.subarray(at, end))
  return Buffer.concat(parts)
}

/** Header and question of a message; undefined when they are malformed or there are several questions. */
export function readHeader(message: Buffer): ReplyHeader | undefined {
  if (message.length < HEADER_LENGTH) return undefined
  const questions = message.readUInt16BE(4)
  if (questions > 1) return undefined
  const name = questions === 0 ? undefined : readName(message, HEADER_LENGTH)
  const end = name === undefined ? HEADER_LENGTH : name.end + 4
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
    isResponse: (flags & FLAG.response) !== 0,
    opcode: (flags >> 11) & 0xf,
    isTruncated: (flags & FLAG.truncated) !== 0,
    isAuthentic: (flags & FLAG.authenticData) !== 0,
    rcode: flags & 0xf,
    counts: {
      answers: message.readUInt16BE(6),
      authorities: message.readUInt16BE(8),
      additionals: message.readUInt16BE(10),
    },
  }
}
