import { NAMES } from '../../resources/names.ts'
import type { StringMap } from './string-map.ts'

/**
 * The rule by which the endpoints of a Service get topology hints. `Auto`: each zone gets endpoints in
 * proportion to its processors; `SameZone`: an endpoint is for its own zone; `SameNode`: for its node, too.
 */
export type TrafficDistribution = 'Auto' | 'SameZone' | 'SameNode'

const BY_FIELD: ReadonlyMap<string, TrafficDistribution> = new Map([
  ['PreferClose', 'SameZone'],
  ['PreferSameZone', 'SameZone'],
  ['PreferSameNode', 'SameNode'],
])

/**
 * Reads the annotation `topology-mode` (or an older name of it) and the field `spec.trafficDistribution`.
 * The annotation with the value `auto` or `Auto` takes precedence, as in Kubernetes; with any other value,
 * the field decides. Undefined for a field that is empty or unknown.
 */
export function readTrafficDistribution(
  annotations: StringMap,
  field: string,
): TrafficDistribution | undefined {
  const name = NAMES.topologyMode.find((one) => Object.hasOwn(annotations, one))
  const mode = name === undefined ? '' : annotations[name]
  return mode === 'auto' || mode === 'Auto' ? 'Auto' : BY_FIELD.get(field)
}
