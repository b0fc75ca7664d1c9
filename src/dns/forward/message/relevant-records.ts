import type { Query } from './query.ts'
import type { WireRecord } from './read-records.ts'
import { comparable, readName } from './wire-name.ts'

const TYPE = {
  NS: 2,
  CNAME: 5,
  SOA: 6,
  DNAME: 39,
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  NSEC3: 50,
  ANY: 255,
}
const CLASS_ANY = 255
/** Names of a chain of CNAME records; resolvers follow about as many. */
const MAX_CHAIN = 16
const OF_AUTHORITY = new Set([TYPE.NS, TYPE.SOA, TYPE.DS, TYPE.RRSIG, TYPE.NSEC, TYPE.NSEC3])

/** What of a reply belongs to its question. */
export interface RelevantRecords {
  /** The records of the name, and of the names to which CNAME records lead from it. */
  readonly answers: readonly WireRecord[]
  readonly authorities: readonly WireRecord[]
  /** Whether `answers` has none of the type in question: NXDOMAIN or NODATA (RFC 2308). */
  readonly isNegative: boolean
  /** The SOA record that covers the last name of the chain, of a negative answer. */
  readonly soa: WireRecord | undefined
}

/**
 * Drops what the question did not request: an upstream, or an attacker who guessed its reply, must not say
 * anything about other names.
 */
export function relevantRecords(
  query: Query,
  sections: Readonly<Record<'answers' | 'authorities', readonly WireRecord[]>>,
): RelevantRecords {
  const chain = chainOf(query, sections.answers)
  const answers = sections.answers.filter((record) => isOfChain(record, query, chain))
  const authorities = sections.authorities.filter(
    (record) => isOfClass(record, query) && OF_AUTHORITY.has(record.type),
  )
  const isNegative = !answers.some(({ type }) => query.type === TYPE.ANY || type === query.type)
  const last = [...chain].at(-1) ?? ''
  const soa = authorities.find(
    ({ type, owner }) => type === TYPE.SOA && isWithin(last, comparable(owner)),
  )
  return { answers, authorities, isNegative, soa: isNegative ? soa : undefined }
}

/** The name of the question, then the target of each CNAME in order; a circle ends the chain, or `MAX_CHAIN`. */
function chainOf(query: Query, answers: readonly WireRecord[]): ReadonlySet<string> {
  const targets = new Map<string, string>()
  for (const record of answers) {
    const owner = comparable(record.owner)
    const follows = record.type === TYPE.CNAME && isOfClass(record, query) && !targets.has(owner)
    if (follows) targets.set(owner, comparable(readName(record.rdata, 0)?.wire ?? record.owner))
  }
  const chain = new Set<string>()
  let name: string | undefined = comparable(query.name)
  const follows = query.type !== TYPE.CNAME && query.type !== TYPE.ANY
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
  if (type === TYPE.DNAME || type === TYPE.RRSIG) {
    if ([...chain].some((name) => isWithin(name, owner))) return true
  }
  const isWanted = query.type === TYPE.ANY || type === query.type || type === TYPE.CNAME
  return isWanted && chain.has(owner)
}

function isOfClass({ klass }: WireRecord, query: Query): boolean {
  return query.klass === CLASS_ANY || klass === query.klass
}

/** Whether a name is `zone` or below it; both as comparable text. */
function isWithin(name: string, zone: string): boolean {
  for (let at = 0; at < name.length; at += 1 + name.charCodeAt(at)) {
    if (name.slice(at) === zone) return true
  }
  return false
}
