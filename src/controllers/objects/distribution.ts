import { NAMES } from '../../resources/names.ts'
import type { StringMap } from './object-meta.ts'

/**
 * Which hints the endpoints of a Service carry. `Auto`: zones in proportion to their
 * processors; `SameZone`: the zone of each endpoint; `SameNode`: its node as well.
 */
export type Distribution = 'Auto' | 'SameZone' | 'SameNode'

const BY_FIELD: ReadonlyMap<string, Distribution> = new Map([
  ['PreferClose', 'SameZone'],
  ['PreferSameZone', 'SameZone'],
  ['PreferSameNode', 'SameNode'],
])

/**
 * The annotation counts before `spec.trafficDistribution`, as in Kubernetes; with any
 * other value than `auto` or `Auto` it requests nothing, and the field decides.
 */
export function readDistribution(annotations: StringMap, field: string): Distribution | undefined {
  const name = NAMES.topologyMode.find((one) => Object.hasOwn(annotations, one))
  const mode = name === undefined ? '' : annotations[name]
  return mode === 'auto' || mode === 'Auto' ? 'Auto' : BY_FIELD.get(field)
}
