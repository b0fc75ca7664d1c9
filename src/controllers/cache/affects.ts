import type { NodeObject } from '../objects/node-object.ts'
import { nodeGroup } from './collections.ts'
import type { ObjectChange } from './object-cache.ts'
import type { View } from './view.ts'

/** The keys that a change makes dirty; the view shows the state after it. */
export type Affects<T> = (change: ObjectChange<T>, view: View) => Iterable<string>

/**
 * Makes the Pods of a node dirty when the node is created, is deleted, or changes in `facts`;
 * a change of anything else makes none dirty.
 */
export function podsOfNode(facts: (node: NodeObject) => unknown): Affects<NodeObject> {
  return ({ key, before, after }, view) => {
    const isSame = before && after && facts(before) === facts(after)
    return isSame ? [] : [...view.pods.group(nodeGroup(key))].map(({ meta }) => meta.key)
  }
}
