import { NAMES } from '../../resources/names.ts'
import type { StringMap } from './string-map.ts'

/**
 * The rule by which the endpoints of a Service get topology hints. `Auto`: each zone is served by endpoints in
 * proportion to its processors; `SameZone`: an endpoint serves the clients of its own zone; `SameNode`: it has a
 * hint for its node as well.
 */
export type TrafficDistribution = 'Auto' | 'SameZone' | 'SameNode'

/** The rule of each value of `spec.trafficDistribution`. */
const RULES: ReadonlyMap<string, TrafficDistribution> = new Map([
  ['PreferClose', 'SameZone'],
  ['PreferSameZone', 'SameZone'],
  ['PreferSameNode', 'SameNode'],
])

/**
 * Reads the annotation `topology-mode` and `field`, which is `spec.trafficDistribution`. Of the names of the
 * annotation (`NAMES.topologyMode`) the first that the Service has counts. With the value `auto` or `Auto` it takes
 * precedence, as in Kubernetes; with any other value, the field decides. Undefined for a field that is empty or
 * unknown.
 */
export function readTrafficDistribution(
  annotations: StringMap,
  field: string,
): TrafficDistribution | undefined {
  const name = NAMES.topologyMode.find((one) => Object.hasOwn(annotations, one))
  const mode = name === undefined ? '' : annotations[name]
  return mode === 'auto' || mode === 'Auto' ? 'Auto' : RULES.get(field)
}
