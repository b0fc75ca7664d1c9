import { isDeepEqual } from '../../lib/equal.ts'
import { AUTO_HINTS_GROUP } from '../cache/collections.ts'
import type { ObjectChange } from '../cache/object-cache.ts'
import { servicesOnNode } from '../cache/selection.ts'
import type { View } from '../cache/view.ts'
import { capacityOf } from '../cache/zone-capacity.ts'
import type { NodeObject } from '../objects/node-object.ts'

/** Stands for all Services whose hints depend on the processors of each zone; no key of a Service. */
export const CAPACITY_KEY = 'zone capacity'

/**
 * The Services with Pods on a node that moved to another zone; and, when the node counts
 * for something else than before, those with hints in proportion to processors. A
 * heartbeat concerns none.
 */
export function nodeAffects(
  { key, before, after }: ObjectChange<NodeObject>,
  view: View,
): readonly string[] {
  const moved = before?.zone === after?.zone ? [] : servicesOnNode(key, view)
  const [was, is] = [before, after].map((node) => (node === undefined ? [] : capacityOf(node)))
  const isIdle = isDeepEqual(was, is) || view.services.groupSize(AUTO_HINTS_GROUP) === 0
  return isIdle ? moved : [...moved, CAPACITY_KEY]
}

export function servicesByCapacity(view: View): readonly string[] {
  return [...view.services.group(AUTO_HINTS_GROUP)].map(({ meta }) => meta.key)
}
