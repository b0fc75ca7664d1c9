/** An endpoint may get at most 6/5 of the load that each would get without hints. */
const OVERLOAD = { numerator: 6, denominator: 5 }

interface ZoneCount {
  readonly zone: string
  readonly cpu: number
  readonly own: number
  count: number
}

/**
 * How many endpoints each zone gets, in proportion to its processors (`capacity`, thousandths by zone). Each zone
 * first gets the minimum that keeps the overload of its endpoints at 20 % or less. The others go, one by one, to
 * the zone that is farthest below its share; a zone with more endpoints of its own (`own`, by zone) is preferred
 * up to half an endpoint. Undefined when there are too few endpoints for the minima. All numbers are whole, so
 * that the result does not depend on the order of the maps.
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
