import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import type { ZoneCapacity } from '../../cache/zone-capacity.ts'
import type { TrafficDistribution } from '../../objects/traffic-distribution.ts'
import { type HintsProblem, zoneHints } from './zone-hints.ts'

/** The part of an endpoint on which hints depend. */
export interface HintableEndpoint {
  /** Equal for the same Pod at the same address. */
  readonly id: string
  /** The endpoint as an EndpointSlice holds it. */
  readonly body: JsonObject
}

/** Endpoints with their hints. */
export interface HintedEndpoints<T> {
  readonly endpoints: readonly T[]
  /** Why there are no hints although an annotation requests them. */
  readonly problem?: HintsProblem | undefined
}

/**
 * The endpoints of one address type with the hints by which nodes choose among them.
 * Only ready ones carry hints: nodes use no other endpoints.
 */
export function addHints<T extends HintableEndpoint>(
  endpoints: readonly T[],
  distribution: TrafficDistribution | undefined,
  capacity: ZoneCapacity,
): HintedEndpoints<T> {
  if (distribution === undefined) return { endpoints }
  if (distribution !== 'Auto') {
    return { endpoints: endpoints.map((one) => withHints(one, near(one.body, distribution))) }
  }
  const placed = endpoints.filter(isReady).map(({ id, body }) => ({ id, zone: zoneOf(body) }))
  const { problem, ...found } = zoneHints(placed, capacity)
  if (problem !== undefined || !('zones' in found)) return { endpoints, problem }
  const hinted = endpoints.map((one) => withHints(one, forZones(found.zones.get(one.id) ?? '')))
  return { endpoints: hinted }
}

function withHints<T extends HintableEndpoint>(endpoint: T, hints: JsonObject): T {
  if (!isReady(endpoint) || Object.keys(hints).length === 0) return endpoint
  return { ...endpoint, body: { ...endpoint.body, hints } }
}

/** Hints for the zone and, with `SameNode`, the node of an endpoint, if they are known. */
function near(body: JsonObject, distribution: 'SameZone' | 'SameNode'): JsonObject {
  const nodeName = distribution === 'SameNode' ? stringAt(body, 'nodeName') : ''
  return {
    ...forZones(zoneOf(body)),
    ...(nodeName === '' ? {} : { forNodes: [{ name: nodeName }] }),
  }
}

function forZones(name: string): JsonObject {
  return name === '' ? {} : { forZones: [{ name }] }
}

function zoneOf(body: JsonObject): string {
  return stringAt(body, 'zone')
}

function isReady({ body }: HintableEndpoint): boolean {
  return objectAt(body, 'conditions')['ready'] === true
}
