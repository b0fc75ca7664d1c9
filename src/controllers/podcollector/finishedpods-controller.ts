import { FINISHED_GROUP } from '../objects/collections.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { View } from '../objects/view.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'

/** As many as the ecosystem keeps. */
const MOST = 12_500

/** All finished pods are looked at together. */
const ALL = 'finished'

/** Keeps no more than `most` Pods that have succeeded or failed: the oldest go first. */
export function createFinishedPodsController(most: number = MOST): Controller {
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
  const kept = [...view.pods.group(FINISHED_GROUP)].filter(({ terminating }) => !terminating)
  const surplus = kept.toSorted(byAge).slice(0, Math.max(0, kept.length - most))
  return {
    writes: surplus.map(({ meta }) => ({ verb: 'delete', collection: 'pods', meta })),
  }
}

function byAge(a: PodObject, b: PodObject): number {
  const ages = Date.parse(a.meta.createdAt) - Date.parse(b.meta.createdAt)
  if (ages !== 0 && !Number.isNaN(ages)) return ages
  return a.meta.key < b.meta.key ? -1 : 1
}
