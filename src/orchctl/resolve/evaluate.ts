import { addressOfReverseName } from '../../dns/zone/address-names.ts'
import type { ZoneAnswer } from '../../dns/zone/zone-answer.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import { explainDenial } from './explain-denial.ts'
import { shownRecord } from './origin.ts'
import type { QueryType } from './question.ts'
import type { ShownRecord, TypeAnswer } from './resolution.ts'

/** Aliases that are followed; the zone follows no more. */
const MAX_ALIASES = 10

/** What the zone answers for a type at a name, and why. Reads the objects that it depends on. */
export async function evaluate(
  name: string,
  type: QueryType,
  objects: ClusterObjects,
): Promise<TypeAnswer> {
  const read = await answerOf(name, type, objects)
  if (typeof read === 'string') return answer(type, 'UNKNOWN', [], read)
  if (read.kind === 'foreign') return answer(type, 'FORWARDED', [], outside(name, objects.domain))
  if (read.kind !== 'found') {
    const status = read.kind === 'missing' ? 'NXDOMAIN' : 'NODATA'
    return answer(type, status, [], explainDenial(name, type, objects))
  }
  const records = read.answers.map((record) => shownRecord(record, objects))
  if (read.denied !== undefined) {
    const end = records.at(-1)?.data ?? ''
    const status = read.denied === 'missing' ? 'NXDOMAIN' : 'NODATA'
    const why = explainDenial(end, type, objects)
    return answer(type, status, records, `the alias leads to ${end}: ${why}`)
  }
  const isFound = read.target !== undefined || records.some((record) => record.type === type)
  const loop = 'the aliases lead back to themselves, or are too many'
  return isFound ? answer(type, 'NOERROR', records, '') : answer(type, 'NODATA', records, loop)
}

function answer(
  type: string,
  status: TypeAnswer['status'],
  records: ShownRecord[],
  reason: string,
): TypeAnswer {
  return { type, status, records, reason, server: null }
}

function outside(name: string, domain: string): string {
  return addressOfReverseName(name) === undefined
    ? `outside of ${domain}: the server of the cluster queries its upstream, or refuses without one`
    : 'no Service has this address, and no endpoint with a hostname: the server queries its upstream'
}

/** The answer of the zone once every object on the way is read; a text says why one cannot be. */
async function answerOf(
  name: string,
  type: QueryType,
  objects: ClusterObjects,
): Promise<ZoneAnswer | string> {
  const read = new Set<string>()
  for (let next = name; ; ) {
    const refusal = await objects.load(next)
    if (refusal !== '') return refusal
    read.add(next)
    const found = objects.zone.answer(name, type)
    const last = found.kind === 'found' ? found.answers.at(-1) : undefined
    if (last?.type !== 'CNAME' || read.has(last.data) || read.size > MAX_ALIASES) return found
    next = last.data
  }
}
