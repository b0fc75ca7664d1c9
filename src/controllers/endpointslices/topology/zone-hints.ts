import type { ZoneCapacity } from '../../cache/zone-capacity.ts'
import type { PlacedEndpoint } from './zone-assignment.ts'
import { assignZones } from './zone-assignment.ts'
import { countsPerZone } from './zone-counts.ts'

/** Why endpoints carry no zone hints although an annotation requests them. */
export interface HintsProblem {
  /** Reason of the condition, stable. */
  readonly reason: string
  /** One clause, always the same for one reason. */
  readonly message: string
  /** The numbers that led to the problem, which may change while the reason stays. */
  readonly detail: string
}

/** The zone of each ready endpoint by its id, or why none gets a hint. */
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
    'the Service has too few ready endpoints for a share in which none is overloaded by more than 20 %',
  EndpointWithoutZone:
    'the node of a ready endpoint is unknown or has no label topology.kubernetes.io/zone',
} as const
