import { contentHash } from '../../lib/hash.ts'
import type { ZoneCapacity } from '../cache/collections.ts'

/** An endpoint may get at most 6/5 of the load that each would get without hints. */
const OVERLOAD = { numerator: 6, denominator: 5 }

/** A ready endpoint and where it is. */
export interface PlacedEndpoint {
  readonly id: string
  /** Empty when unknown. */
  readonly zone: string
}

/** Why endpoints carry no zone hints although an annotation requests them. */
export interface HintsProblem {
  /** Reason of the condition, stable. */
  readonly reason: string
  /** One clause, always the same for the same reason. */
  readonly message: string
  /** The numbers that led to the problem, which may change while the reason stays. */
  readonly detail: string
}

/** The zone that each ready endpoint is for, by id, or the reason why none gets a hint. */
export type ZoneHints =
  | { readonly zones: ReadonlyMap<string, string>; readonly problem?: undefined }
  | { readonly problem: HintsProblem }

/**
 * The zone that each ready endpoint of one address type is for, by id; or the reason why none gets a hint, if
 * hints would overload a zone or leave one without endpoints (the safeguards of KEP-2433).
 */
export function zoneHints(
  endpoints: readonly PlacedEndpoint[],
  { zones, incomplete }: ZoneCapacity,
): ZoneHints {
  const detail = `ready endpoints: ${endpoints.length}, zones with ready nodes: ${zones.size}`
  const without = (reason: keyof typeof PROBLEMS, more = detail): ZoneHints => ({
    problem: { reason, message: PROBLEMS[reason], detail: more },
  })
  if (incomplete > 0) return without('InsufficientNodeInformation', `such nodes: ${incomplete}`)
  if (zones.size < 2) return without('FewerThanTwoZones')
  if (zones.size > endpoints.length) return without('FewerEndpointsThanZones')
  const own = Map.groupBy(endpoints, ({ zone }) => zone)
  const counts = countsPerZone(zones, new Map([...own].map(([zone, { length }]) => [zone, length])))
  if (counts === undefined) return without('OverloadThresholdExceeded')
  const unknown = own.get('')?.length ?? 0
  if (unknown > 0) return without('EndpointWithoutZone', `such endpoints: ${unknown}`)
  return { zones: assignZones(endpoints, counts) }
}

const PROBLEMS = {
  InsufficientNodeInformation:
    'a ready Node has no label topology.kubernetes.io/zone or no status.allocatable.cpu',
  FewerThanTwoZones: 'fewer than two zones have ready nodes',
  FewerEndpointsThanZones: 'the Service has fewer ready endpoints than there are zones',
  OverloadThresholdExceeded:
    'the Service has too few ready endpoints to divide them among the zones so that none gets more than 20 % too much',
  EndpointWithoutZone:
    'the node of a ready endpoint is unknown or has no label topology.kubernetes.io/zone',
} as const

/**
 * The zone that each endpoint is for, by id, so that every zone has the number of endpoints in `counts`. An
 * endpoint is for its own zone while that number allows. Which endpoints of a zone are for another one, and for
 * which, depends only on a hash of zone and endpoint and never on earlier results. So all replicas agree
 * without shared state, and adding or removing an endpoint changes the zone of only a few others.
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
 * The endpoints in an order that is specific to the zone (rendezvous hashing). Endpoints of one node are far
 * apart in it although their addresses are similar.
 */
function ranking(zone: string, endpoints: readonly PlacedEndpoint[]): readonly PlacedEndpoint[] {
  return endpoints
    .map((endpoint) => ({ endpoint, rank: contentHash(`${zone} ${endpoint.id}`) }))
    .toSorted((a, b) => a.rank - b.rank || (a.endpoint.id < b.endpoint.id ? -1 : 1))
    .map(({ endpoint }) => endpoint)
}

interface ZoneCount {
  readonly zone: string
  readonly cpu: number
  readonly own: number
  count: number
}

/**
 * How many endpoints each zone gets, in proportion to its processors (`capacity`, millicores by zone). Each zone first
 * gets the minimum that keeps the overload of its endpoints at 20 % or less. The others go, one by one, to the zone that
 * is farthest below its share; a zone that has more endpoints of its own (`own`, by zone) than it has got so far counts as
 * slightly more than half an endpoint further below its share. Undefined when there are too few endpoints for the minima.
 * All numbers are whole, so that the result does not depend on the order of the maps.
 */
export function countsPerZone(
  capacity: ReadonlyMap<string, number>,
  own: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> | undefined {
  const endpoints = sum(own.values())
  const total = sum(capacity.values())
  const least = (cpu: number): number =>
    Math.ceil((cpu * endpoints * OVERLOAD.denominator) / (total * OVERLOAD.numerator))
  const zones = [...capacity]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([zone, cpu]): ZoneCount => ({ zone, cpu, own: own.get(zone) ?? 0, count: least(cpu) }))
  const rest = endpoints - sum(zones.map(({ count }) => count))
  if (rest < 0) return undefined
  const need = ({ cpu, count, own }: ZoneCount): number =>
    2 * (cpu * endpoints - total * count) + (count < own ? total + 1 : 0)
  for (let left = rest; left > 0; left--) neediest(zones, need).count++
  return new Map(zones.map(({ zone, count }) => [zone, count]))
}

/** The first zone with the greatest need. */
function neediest(
  zones: readonly ZoneCount[],
  need: (zone: ZoneCount) => number,
): { count: number } {
  return zones.reduce((best, zone) => (need(zone) > need(best) ? zone : best))
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
