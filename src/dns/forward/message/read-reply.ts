import type { Answer } from 'dns-packet'
import { decodeRecords } from './decode-records.ts'
import type { Query } from './query.ts'
import type { ReplyHeader } from './read-header.ts'
import { readSections, type Sections, type WireRecord, wireLength } from './read-records.ts'
import { relevantRecords } from './relevant-records.ts'

/** The largest message, in bytes: its length over TCP has 16 bits. */
const MAX_MESSAGE_BYTES = 65_535
const TYPE_OPT = 41
const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
}

/** What an upstream says about a question, checked and without what the question did not request. */
export interface UpstreamAnswer {
  /** 0 (NOERROR) or 3 (NXDOMAIN). */
  readonly rcode: number
  readonly isAuthentic: boolean
  /** TTLs as the upstream gives them, in seconds. */
  readonly answers: readonly Answer[]
  readonly authorities: readonly Answer[]
  /** Of NXDOMAIN and NODATA: seconds for which that holds (RFC 2308 §5), 0 without an SOA record. */
  readonly negativeTtl: number | undefined
  /** Bytes of both sections without compression. */
  readonly wireBytes: number
}

/** Why a reply of an upstream is no answer. */
export type ReplyFault =
  /** It refuses EDNS: FORMERR, NOTIMP or BADVERS. */
  | 'edns'
  | 'servfail'
  | 'refused'
  /** Another RCODE. */
  | 'rcode'
  /** Records that cannot be read, or have no representation. */
  | 'undecodable'
  /** Larger than a message can be, without compression. */
  | 'oversized'

/** The answer of a reply that matches the query, and is not truncated, or what is wrong with it. */
export function readReply(
  message: Buffer,
  header: ReplyHeader,
  query: Query,
): UpstreamAnswer | ReplyFault {
  const sections = readSections(message, header)
  if (sections === undefined) return header.rcode === RCODE.FORMERR ? 'edns' : 'undecodable'
  const rcode = fullRcode(header, sections)
  const fault = faultOf(rcode)
  if (fault !== undefined) return fault
  const { answers, authorities, isNegative, soa } = relevantRecords(query, sections)
  const wireBytes = [...answers, ...authorities].reduce((sum, each) => sum + wireLength(each), 0)
  if (wireBytes + header.end > MAX_MESSAGE_BYTES) return 'oversized'
  const decoded = decodeRecords([...answers, ...authorities])
  if (decoded === undefined) return 'undecodable'
  return {
    rcode,
    isAuthentic: header.isAuthentic,
    answers: decoded.slice(0, answers.length),
    authorities: decoded.slice(answers.length),
    negativeTtl: isNegative || rcode === RCODE.NXDOMAIN ? negativeTtlOf(soa) : undefined,
    wireBytes,
  }
}

/** The TTL of the SOA record or its MINIMUM, the last field of its data: the lesser one. */
function negativeTtlOf(soa: WireRecord | undefined): number {
  if (soa === undefined || soa.rdata.length < 4) return 0
  return Math.min(soa.ttl, soa.rdata.readUInt32BE(soa.rdata.length - 4))
}

/** With the upper bits that the OPT record adds (RFC 6891 §6.1.3). */
function fullRcode(header: ReplyHeader, { additionals }: Sections): number {
  const opt = additionals.find(({ type }) => type === TYPE_OPT)
  return opt === undefined ? header.rcode : ((opt.ttl >>> 24) << 4) | header.rcode
}

function faultOf(rcode: number): ReplyFault | undefined {
  if (rcode === RCODE.NOERROR || rcode === RCODE.NXDOMAIN) return undefined
  if (rcode === RCODE.SERVFAIL) return 'servfail'
  if (rcode === RCODE.REFUSED) return 'refused'
  const { FORMERR, NOTIMP, BADVERS } = RCODE
  return [FORMERR, NOTIMP, BADVERS].includes(rcode) ? 'edns' : 'rcode'
}
