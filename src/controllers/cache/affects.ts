import type { NodeObject } from '../objects/node-object.ts'
import type { Affects } from '../runner/controller.ts'
import { nodeGroup } from './collections.ts'

/** Whom a node concerns when it comes, goes, or changes in what counts: its Pods. */
export function podsOfNode(whatCounts: (node: NodeObject) => unknown): Affects<NodeObject> {
  return ({ key, before, after }, view) => {
    const isSame = before && after && whatCounts(before) === whatCounts(after)
    return isSame ? [] : [...view.pods.group(nodeGroup(key))].map(({ meta }) => meta.key)
  }
}
