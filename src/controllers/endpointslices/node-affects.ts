import { isDeepEqual } from '../../lib/equal.ts'
import { AUTO_HINTS_GROUP } from '../cache/collections.ts'
import type { ObjectChange } from '../cache/object-cache.ts'
import { servicesOnNode } from '../cache/selection.ts'
import type { View } from '../cache/view.ts'
import { capacityOf } from '../cache/zone-capacity.ts'
import type { NodeObject } from '../objects/node-object.ts'

/** The key that stands for all Services with hints in proportion to processors; no Service has it. */
export const CAPACITY_KEY = 'zone capacity'

/**
 * The Services with Pods on a node whose zone changed, and `CAPACITY_KEY` when the capacity of the node changed. A
 * heartbeat affects none.
 */
export function nodeAffects(
  { key, before, after }: ObjectChange<NodeObject>,
  view: View,
): readonly string[] {
  const moved = before?.zone === after?.zone ? [] : servicesOnNode(key, view)
  const [was, is] = [before, after].map((node) => (node === undefined ? [] : capacityOf(node)))
  const isCapacityIrrelevant =
    isDeepEqual(was, is) || view.services.groupSize(AUTO_HINTS_GROUP) === 0
  return isCapacityIrrelevant ? moved : [...moved, CAPACITY_KEY]
}

/** The Services with hints in proportion to the processors of each zone. */
export function servicesByCapacity(view: View): readonly string[] {
  return [...view.services.group(AUTO_HINTS_GROUP)].map(({ meta }) => meta.key)
}
