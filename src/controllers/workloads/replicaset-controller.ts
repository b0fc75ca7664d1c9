import { objectAt } from '../../lib/json.ts'
import { labelMatcher } from '../../resources/label-selector.ts'
import type { View } from '../cache/object-cache.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { WorkloadObject } from '../objects/workload-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import {
  acceptedStatus,
  type PodReports,
  podCreation,
  podDeletion,
  podMessage,
} from './pod-writes.ts'
import { claimPods, gatherMs, untilAvailable, workloadsOfPod } from './shared/pods-of.ts'
import { statusDifference } from './shared/status-difference.ts'
import { byDeletionOrder, isActive } from './shared/surplus-pods.ts'

/** Pods that one reconcile makes or deletes; the next one follows at once. */
const BURST = 500

/** Makes and deletes Pods until each ReplicaSet has as many as it wants. A key is `namespace/name` of a ReplicaSet. */
export const replicaSetController: Controller = {
  name: 'replicaset',
  account: 'replicaset-controller',
  delayMs: (key, view) => gatherMs(view.replicasets.get(key)),
  watches: {
    replicasets: ({ key, after }) => (after === undefined ? [] : [key]),
    pods: workloadsOfPod('replicasets'),
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const set = view.replicasets.get(key)
  if (set === undefined) return SETTLED
  const claimed = claimPods('replicasets', set, view)
  if (claimed.writes.length > 0) return { writes: claimed.writes, dirty: [key] }
  const pods = claimed.pods.filter(isActive)
  const waits = pods.map((pod) => untilAvailable(pod, set.minReadyMs, now))
  const counts = countsOf(set, pods, waits)
  const reports: PodReports = {
    collection: 'replicasets',
    owner: set,
    now,
    message: podMessage,
    status: (conditions) => statusDifference(set.status, counts, conditions, ['replicas']),
  }
  const surplus = set.meta.terminating ? 0 : pods.length - set.replicas
  const create = podCreation(reports, { name: `${set.meta.name}-` })
  const changes =
    surplus < 0
      ? Array.from({ length: Math.min(-surplus, BURST + 1) }, () => create)
      : surplusOf(set, pods, surplus, view).map((pod) => podDeletion(reports, pod))
  const waiting = waits.filter((ms) => ms > 0 && Number.isFinite(ms))
  return {
    writes: [...changes.slice(0, BURST), ...acceptedStatus(reports)],
    ...(waiting.length > 0 && { againMs: Math.min(...waiting) }),
    ...(changes.length > BURST && { dirty: [key] }),
  }
}

function surplusOf(
  set: WorkloadObject,
  pods: readonly PodObject[],
  count: number,
  view: View,
): readonly PodObject[] {
  const isPart = count > 0 && count < pods.length
  return (isPart ? byDeletionOrder(set, pods, view) : pods).slice(0, count)
}

/** Counts the Pods as they were before this reconcile; those that it makes are counted when their events arrive. */
function countsOf(set: WorkloadObject, pods: readonly PodObject[], waits: readonly number[]) {
  const isLabeled = labelMatcher({ matchLabels: objectAt(set.template, 'metadata', 'labels') })
  const count = (test: (pod: PodObject) => boolean): number => pods.filter(test).length
  return {
    replicas: pods.length,
    fullyLabeledReplicas: count(({ meta }) => isLabeled(meta.labels)),
    readyReplicas: count(({ ready }) => ready),
    availableReplicas: waits.filter((ms) => ms === 0).length,
    observedGeneration: set.generation,
  }
}
