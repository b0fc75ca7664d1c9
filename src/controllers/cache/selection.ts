import { isDeepEqual } from '../../lib/equal.ts'
import type { NodeObject } from '../objects/node-object.ts'
import type { StringMap } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import { labelGroup, nodeGroup } from './collections.ts'
import type { ObjectChange, View } from './object-cache.ts'

/** The keys that a change makes dirty; the view shows the state after it. */
export type Affects<T> = (change: ObjectChange<T>, view: View) => Iterable<string>

/**
 * The Pods that a Service selects; the cost is proportional to the number of Pods with the rarest label of its
 * selector.
 */
export function podsOf(service: ServiceObject, view: Pick<View, 'pods'>): readonly PodObject[] {
  const { selector, meta } = service
  if (selector === undefined) return []
  const groups = Object.entries(selector).map((label) => labelGroup(meta.namespace, label))
  const [smallest = ''] = groups.toSorted((a, b) => view.pods.groupSize(a) - view.pods.groupSize(b))
  return [...view.pods.group(smallest)].filter((pod) => selects(selector, pod.meta.labels))
}

/** Keys of the Services that select a Pod. */
export function servicesOf({ meta }: PodObject, view: Pick<View, 'services'>): readonly string[] {
  return Object.entries(meta.labels)
    .flatMap((label) => [...view.services.group(labelGroup(meta.namespace, label))])
    .filter(({ selector }) => selector !== undefined && selects(selector, meta.labels))
    .map((service) => service.meta.key)
}

/** Keys of the Services that select a Pod of a node. */
export function servicesOnNode(nodeName: string, view: View): readonly string[] {
  const pods = [...view.pods.group(nodeGroup(nodeName))]
  return [...new Set(pods.flatMap((pod) => servicesOf(pod, view)))]
}

function selects(selector: StringMap, labels: StringMap): boolean {
  return Object.entries(selector).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  )
}

/**
 * Makes the Pods of a node dirty when the node is created or deleted, or when its `facts` change. Other changes
 * make none dirty.
 */
export function podsOfNode(facts: (node: NodeObject) => unknown): Affects<NodeObject> {
  return ({ key, before, after }, view) => {
    const isSame = before && after && facts(before) === facts(after)
    return isSame ? [] : [...view.pods.group(nodeGroup(key))].map(({ meta }) => meta.key)
  }
}

/** Keys of the Services that select the Pod before or after the change; none if no endpoint field changed. */
export function servicesOfPodChange(
  change: ObjectChange<PodObject>,
  view: View,
): readonly string[] {
  const { before, after } = change
  if (
    before !== undefined &&
    after !== undefined &&
    isDeepEqual(endpointFields(before), endpointFields(after))
  ) {
    return []
  }
  const pods = [before, after].filter((pod) => pod !== undefined)
  return pods.flatMap((pod) => servicesOf(pod, view))
}

/**
 * The fields of a Pod on which endpoints depend: without the rest of `metadata`, which changes at every write, and
 * without what only matters until it has a node.
 */
function endpointFields({ meta, ...rest }: PodObject): unknown {
  return { ...rest, placement: undefined, uid: meta.uid, labels: meta.labels }
}
