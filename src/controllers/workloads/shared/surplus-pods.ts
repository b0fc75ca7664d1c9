import { ownerGroup } from '../../cache/collections.ts'
import type { View } from '../../cache/object-cache.ts'
import { controllerOf } from '../../objects/object-meta.ts'
import type { PodObject } from '../../objects/pod-object.ts'
import type { WorkloadObject } from '../../objects/workload-object.ts'

const COST = 'controller.kubernetes.io/pod-deletion-cost'
const PHASES = ['Pending', 'Unknown', 'Running']

/** Whether a Pod counts for its workload: it has not ended and is not being deleted. */
export function isActive({ finished, meta }: PodObject): boolean {
  return !finished && !meta.terminating
}

/**
 * The active Pods of a ReplicaSet or Job in the order in which they are deleted when they are too many: first those whose
 * end costs least. This is the order of Kubernetes, but for its logarithmic steps of age.
 */
export function byDeletionOrder(
  set: WorkloadObject,
  pods: readonly PodObject[],
  view: View,
): readonly PodObject[] {
  const perNode = new Map<string, number>()
  for (const { nodeName } of relatedPods(set, pods, view)) {
    perNode.set(nodeName, (perNode.get(nodeName) ?? 0) + 1)
  }
  const ranked = pods.map((pod) => ({ pod, rank: rankOf(pod, perNode.get(pod.nodeName) ?? 0) }))
  return ranked.toSorted((a, b) => compareRanks(a.rank, b.rank)).map(({ pod }) => pod)
}

/** The active Pods of all ReplicaSets of the same owner: during a rollout the old ones and the new ones. */
function relatedPods(
  { meta }: WorkloadObject,
  pods: readonly PodObject[],
  view: View,
): readonly PodObject[] {
  const owner = controllerOf(meta)
  if (owner === undefined) return pods
  return [...view.replicasets.group(ownerGroup(owner.uid))].flatMap((set) =>
    [...view.pods.group(ownerGroup(set.meta.uid))].filter(isActive),
  )
}

/** Lower ranks are deleted first: the first element that differs decides. */
type Rank = readonly (number | string)[]

function rankOf(pod: PodObject, onNode: number): Rank {
  const since = pod.readySince
  return [
    pod.nodeName === '' ? 0 : 1,
    Math.max(0, PHASES.indexOf(pod.phase)),
    pod.ready ? 1 : 0,
    deletionCost(pod),
    -onNode,
    // A time that is not known counts as the shortest.
    since === undefined || since === 0 ? Number.NEGATIVE_INFINITY : -since,
    -pod.restarts,
    -(Date.parse(pod.meta.createdAt) || Number.POSITIVE_INFINITY),
    pod.meta.name,
  ]
}

function compareRanks(a: Rank, b: Rank): number {
  const at = a.findIndex((one, index) => one !== b[index])
  if (at === -1) return 0
  return a[at]! < b[at]! ? -1 : 1
}

/** The annotation of a Pod that says what its deletion costs, compared with others: 32 bits; 0 where it is absent or wrong. */
function deletionCost({ meta }: PodObject): number {
  const text = meta.annotations[COST] ?? ''
  const cost = /^(?:0|-?[1-9]\d*)$/.test(text) ? Number(text) : 0
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0
}
