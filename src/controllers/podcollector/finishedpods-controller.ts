import { FINISHED_GROUP } from '../cache/collections.ts'
import type { View } from '../cache/view.ts'
import { byAge } from '../objects/by-age.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'

/** As many as kube-controller-manager keeps (--terminated-pod-gc-threshold). */
const MAX_FINISHED = 12_500

/** All finished pods are looked at together. */
const ALL = 'finished'

/** Keeps no more than `most` Pods that have succeeded or failed: the oldest go first. */
export function createFinishedPodsController(most: number = MAX_FINISHED): Controller {
  return {
    name: 'finishedpods',
    watches: {
      pods: ({ after }) => (after?.finished === true ? [ALL] : []),
    },
    reconcile: (_, view) => reconcile(view, most),
  }
}

function reconcile(view: View, most: number): Reconciliation {
  if (view.pods.groupSize(FINISHED_GROUP) <= most) return SETTLED
  const kept = [...view.pods.group(FINISHED_GROUP)].filter(({ meta }) => !meta.terminating)
  const surplus = kept.toSorted(byAge).slice(0, Math.max(0, kept.length - most))
  return {
    writes: surplus.map(({ meta }) => ({ verb: 'delete', collection: 'pods', meta })),
  }
}
