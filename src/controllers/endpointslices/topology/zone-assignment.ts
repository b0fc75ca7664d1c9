import { contentHash } from '../../../lib/hash.ts'

/** A ready endpoint and where it is. */
export interface PlacedEndpoint {
  readonly id: string
  /** Empty when unknown. */
  readonly zone: string
}

/**
 * The zone that each endpoint is for, by id, so that every zone has the number of endpoints in `counts`. An
 * endpoint is for its own zone while that number allows. Which endpoints of a zone are for another one, and for
 * which, depends on a hash of zone and endpoint and never on the past: controllers agree without memory, and one
 * endpoint more or less changes the zone of few others, however many there are.
 */
export function assignZones(
  endpoints: readonly PlacedEndpoint[],
  counts: ReadonlyMap<string, number>,
): ReadonlyMap<string, string> {
  const assigned = new Map<string, string>()
  const missing = new Map(counts)
  let spare: readonly PlacedEndpoint[] = []
  const take = (zone: string, among: readonly PlacedEndpoint[]): readonly PlacedEndpoint[] => {
    const count = missing.get(zone) ?? 0
    const ranked = among.length > count ? ranking(zone, among) : among
    for (const { id } of ranked.slice(0, count)) assigned.set(id, zone)
    missing.set(zone, count - Math.min(count, ranked.length))
    return ranked.slice(count)
  }
  for (const [zone, own] of Map.groupBy(endpoints, (one) => one.zone)) {
    spare = [...spare, ...take(zone, own)]
  }
  for (const zone of [...counts.keys()].toSorted()) spare = take(zone, spare)
  return assigned
}

/**
 * The endpoints in an order of each zone's own (rendezvous hashing), in which endpoints of one node are far apart
 * although their addresses are similar.
 */
function ranking(zone: string, endpoints: readonly PlacedEndpoint[]): readonly PlacedEndpoint[] {
  return endpoints
    .map((endpoint) => ({ endpoint, rank: contentHash(`${zone} ${endpoint.id}`) }))
    .toSorted((a, b) => a.rank - b.rank || (a.endpoint.id < b.endpoint.id ? -1 : 1))
    .map(({ endpoint }) => endpoint)
}
