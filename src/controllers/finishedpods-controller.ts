import { FINISHED_GROUP } from './cache/collections.ts'
import type { View } from './cache/object-cache.ts'
import { byAge } from './objects/by-age.ts'
import type { Controller, Reconciliation } from './runner/controller.ts'
import { SETTLED } from './runner/controller.ts'

/** `--terminated-pod-gc-threshold` of kube-controller-manager. */
const MAX_FINISHED = 12_500

/** The only key: all finished Pods are reconciled together. */
const KEY = 'finished'

/** Keeps at most `maxPods` Pods that have succeeded or failed, and deletes the oldest ones. */
export function createFinishedPodsController(maxPods: number = MAX_FINISHED): Controller {
  return {
    name: 'finishedpods',
    account: 'pod-garbage-collector',
    watches: {
      pods: ({ after }) => (after?.finished === true ? [KEY] : []),
    },
    reconcile: (_, view) => reconcile(view, maxPods),
  }
}

function reconcile(view: View, maxPods: number): Reconciliation {
  if (view.pods.groupSize(FINISHED_GROUP) <= maxPods) return SETTLED
  const kept = [...view.pods.group(FINISHED_GROUP)].filter(({ meta }) => !meta.terminating)
  const surplus = kept.toSorted(byAge).slice(0, Math.max(0, kept.length - maxPods))
  return {
    writes: surplus.map(({ meta }) => ({ verb: 'delete', collection: 'pods', meta })),
  }
}
