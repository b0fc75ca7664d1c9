import { type Answer, decode, encode } from 'dns-packet'
import { ownBuffer } from '../../../lib/own-buffer.ts'
import { comparable, readName } from '../../wire/name.ts'
import { CLASS, HEADER_LENGTH, MAX_MESSAGE, RCODE, TYPE } from '../../wire/numbers.ts'
import type { Query } from './query.ts'
import {
  encodeRecord,
  type HeaderQuestion,
  type ReplyHeader,
  readHeader,
  readSections,
  type Sections,
  type WireRecord,
  wireLength,
} from './read-records.ts'

/** Names of a chain of CNAME records; resolvers follow about as many. */
const MAX_CHAIN = 16
const OF_AUTHORITY = new Set<number>([
  TYPE.ns,
  TYPE.soa,
  TYPE.ds,
  TYPE.rrsig,
  TYPE.nsec,
  TYPE.nsec3,
])

/** A type of private use (RFC 6895 §3.1): the codec does not know it, so it keeps its data as bytes. */
const UNNAMED_TYPE = 0xff00

const WITHOUT_EDNS = new Set<number>([RCODE.formatError, RCODE.notImplemented, RCODE.badVersion])

/** The answer of an upstream to a question, checked, and without records that the question did not request. */
export interface UpstreamAnswer {
  /** 0 (NOERROR) or 3 (NXDOMAIN). */
  readonly rcode: number
  readonly isAuthentic: boolean
  /** TTLs as the upstream gives them, in seconds. */
  readonly answers: readonly Answer[]
  readonly authorities: readonly Answer[]
  /** For NXDOMAIN and NODATA: the seconds for which the denial may be cached (RFC 2308 §5), 0 without an SOA record. */
  readonly negativeTtl: number | undefined
  /** Bytes of both sections without compression. */
  readonly wireBytes: number
}

/** Why a reply of an upstream cannot be used. */
export type ReplyFault =
  /** It refuses EDNS: FORMERR, NOTIMP or BADVERS. */
  | 'edns'
  | 'servfail'
  | 'refused'
  /** Another RCODE. */
  | 'rcode'
  /** It has records that cannot be read, or have no representation. */
  | 'undecodable'
  /** Without compression it is larger than a message can be. */
  | 'oversized'

/** The answer of a reply that matches the query, and is not truncated, or what is wrong with it. */
export function readReply(
  message: Buffer,
  header: ReplyHeader,
  query: Query,
): UpstreamAnswer | ReplyFault {
  const sections = readSections(message, header)
  if (sections === undefined) return header.rcode === RCODE.formatError ? 'edns' : 'undecodable'
  const rcode = fullRcode(header, sections)
  const fault = faultOf(rcode)
  if (fault !== undefined) return fault
  const { answers, authorities, isNegative, soa } = relevantRecords(query, sections)
  const wireBytes = [...answers, ...authorities].reduce((sum, each) => sum + wireLength(each), 0)
  if (wireBytes + header.end > MAX_MESSAGE) return 'oversized'
  const decoded = decodeRecords([...answers, ...authorities])
  if (decoded === undefined) return 'undecodable'
  return {
    rcode,
    isAuthentic: header.isAuthentic,
    answers: decoded.slice(0, answers.length),
    authorities: decoded.slice(answers.length),
    negativeTtl: isNegative || rcode === RCODE.noSuchName ? negativeTtlOf(soa) : undefined,
    wireBytes,
  }
}

/** The TTL of the SOA record or its MINIMUM, the last field of its data: the lesser one. */
function negativeTtlOf(soa: WireRecord | undefined): number {
  if (soa === undefined || soa.rdata.length < 4) return 0
  return Math.min(soa.ttl, soa.rdata.readUInt32BE(soa.rdata.length - 4))
}

/** The RCODE, with the upper bits from the OPT record (RFC 6891 §6.1.3). */
function fullRcode(header: ReplyHeader, { additionals }: Sections): number {
  const opt = additionals.find(({ type }) => type === TYPE.opt)
  return opt === undefined ? header.rcode : ((opt.ttl >>> 24) << 4) | header.rcode
}

function faultOf(rcode: number): ReplyFault | undefined {
  if (rcode === RCODE.noError || rcode === RCODE.noSuchName) return undefined
  if (rcode === RCODE.serverFailure) return 'servfail'
  if (rcode === RCODE.refused) return 'refused'
  return WITHOUT_EDNS.has(rcode) ? 'edns' : 'rcode'
}

/**
 * Records as the codec represents them. A record that the codec would not encode again to the same bytes, such as
 * a CAA with binary data, has the type `UNKNOWN_<number>` and its data as bytes, which the codec encodes as they
 * are. Undefined when a name has no representation: a label with a dot or of invalid UTF-8 would become another
 * name in text, which attackers use to inject records.
 */
function decodeRecords(records: readonly WireRecord[]): readonly Answer[] | undefined {
  const together = decodeExactly(records)
  if (together !== undefined) return together
  const answers: Answer[] = []
  for (const record of records) {
    const answer = decodeExactly([record])?.[0] ?? decodeOpaque(record)
    if (answer === undefined) return undefined
    answers.push(answer)
  }
  return answers
}

function decodeExactly(records: readonly WireRecord[]): readonly Answer[] | undefined {
  const header = Buffer.alloc(HEADER_LENGTH)
  header.writeUInt16BE(records.length, 6)
  const message = ownBuffer(header, ...records.map(encodeRecord))
  try {
    const { answers = [] } = decode(message)
    return isEncodedAs(answers, message) ? answers : undefined
  } catch {
    return undefined
  }
}

/** The record with its data as bytes. */
function decodeOpaque(record: WireRecord): Answer | undefined {
  const known = decodeExactly([{ ...record, type: UNNAMED_TYPE }])?.[0]
  if (known === undefined || known.type === 'OPT') return undefined
  return { ...known, type: opaqueType(record.type) } as Answer
}

function opaqueType(type: number): string {
  return `UNKNOWN_${type}`
}

function isEncodedAs(answers: readonly Answer[], message: Buffer): boolean {
  const again = encode({ answers: [...answers] })
  return again.subarray(HEADER_LENGTH).equals(message.subarray(HEADER_LENGTH))
}

/** The part of a reply that belongs to its question. */
interface RelevantRecords {
  /** The records of the name, and of the names to which CNAME records lead from it. */
  readonly answers: readonly WireRecord[]
  readonly authorities: readonly WireRecord[]
  /** Whether `answers` has no record of the queried type: NXDOMAIN or NODATA (RFC 2308). */
  readonly isNegative: boolean
  /** In a negative answer: the SOA record that covers the last name of the chain. */
  readonly soa: WireRecord | undefined
}

/**
 * Drops records that the question did not request: neither an upstream nor an attacker who forges its reply may
 * add records of other names.
 */
function relevantRecords(
  query: Query,
  sections: Readonly<Record<'answers' | 'authorities', readonly WireRecord[]>>,
): RelevantRecords {
  const chain = chainOf(query, sections.answers)
  const answers = sections.answers.filter((record) => isOfChain(record, query, chain))
  const authorities = sections.authorities.filter(
    (record) => isOfClass(record, query) && OF_AUTHORITY.has(record.type),
  )
  const isNegative = !answers.some(({ type }) => query.type === TYPE.any || type === query.type)
  const last = [...chain].at(-1) ?? ''
  const soa = authorities.find(
    ({ type, owner }) => type === TYPE.soa && isWithin(last, comparable(owner)),
  )
  return { answers, authorities, isNegative, soa: isNegative ? soa : undefined }
}

/**
 * The name of the question, then the target of each CNAME in order; the chain ends at a loop or after
 * `MAX_CHAIN` names.
 */
function chainOf(query: Query, answers: readonly WireRecord[]): ReadonlySet<string> {
  const targets = new Map<string, string>()
  for (const record of answers) {
    const owner = comparable(record.owner)
    const follows = record.type === TYPE.cname && isOfClass(record, query) && !targets.has(owner)
    if (follows) targets.set(owner, comparable(readName(record.rdata, 0)?.wire ?? record.owner))
  }
  const chain = new Set<string>()
  let name: string | undefined = comparable(query.name)
  const follows = query.type !== TYPE.cname && query.type !== TYPE.any
  while (name !== undefined && !chain.has(name) && chain.size < MAX_CHAIN) {
    chain.add(name)
    name = follows ? targets.get(name) : undefined
  }
  return chain
}

function isOfChain(record: WireRecord, query: Query, chain: ReadonlySet<string>): boolean {
  const { type } = record
  if (!isOfClass(record, query)) return false
  const owner = comparable(record.owner)
  if (type === TYPE.dname || type === TYPE.rrsig) {
    if ([...chain].some((name) => isWithin(name, owner))) return true
  }
  const isWanted = query.type === TYPE.any || type === query.type || type === TYPE.cname
  return isWanted && chain.has(owner)
}

function isOfClass({ klass }: WireRecord, query: Query): boolean {
  return query.klass === CLASS.any || klass === query.klass
}

/** Whether a name is `zone` or below it; both as comparable text. */
function isWithin(name: string, zone: string): boolean {
  for (let at = 0; at < name.length; at += 1 + name.charCodeAt(at)) {
    if (name.slice(at) === zone) return true
  }
  return false
}

/** Why a message is no reply to a query. */
export type DiscardReason =
  /** Header or question cannot be read. */
  | 'malformed'
  /** It is a query, or has an opcode other than QUERY. */
  | 'not-a-response'
  /** It has another id. */
  | 'id'
  /** It has another name, type or class. */
  | 'question'

/** Servers that do not understand a query may leave its question out. */
const MAY_LEAVE_QUESTION_OUT = new Set<number>([RCODE.formatError, RCODE.notImplemented])

/** The header of `message` if it replies to the query sent with `id`, else why it does not. */
export function matchReply(message: Buffer, query: Query, id: number): ReplyHeader | DiscardReason {
  const header = readHeader(message)
  if (header === undefined) return 'malformed'
  if (!header.isResponse || header.opcode !== 0) return 'not-a-response'
  if (header.id !== id) return 'id'
  const { question, rcode } = header
  if (question === undefined) return MAY_LEAVE_QUESTION_OUT.has(rcode) ? header : 'question'
  return isSame(question, query) ? header : 'question'
}

function isSame(question: HeaderQuestion, query: Query): boolean {
  return (
    question.type === query.type &&
    question.klass === query.klass &&
    comparable(question.name) === comparable(query.name)
  )
}
