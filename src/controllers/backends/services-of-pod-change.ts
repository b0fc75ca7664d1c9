import { isDeepEqual } from '../../lib/equal.ts'
import type { ObjectChange, View } from '../cache/object-cache.ts'
import { servicesOf } from '../cache/selection.ts'
import type { PodObject } from '../objects/pod-object.ts'

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

/** The fields of a Pod on which endpoints depend: without the rest of `metadata`, which changes at every write. */
function endpointFields({ meta, ...rest }: PodObject): unknown {
  return { ...rest, uid: meta.uid, labels: meta.labels }
}
