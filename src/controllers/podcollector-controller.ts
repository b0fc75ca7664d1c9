import { DISRUPTION, NODE_GONE } from '../resources/label-names.ts'
import { setCondition, type WantedCondition } from '../resources/status-condition.ts'
import { FINISHED_GROUP } from './cache/collections.ts'
import type { View } from './cache/object-cache.ts'
import { podsOfNode } from './cache/selection.ts'
import { byAge } from './objects/object-meta.ts'
import type { PodObject } from './objects/pod-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { type Deletion, type Patch, statusPatch } from './runner/write.ts'

/** How long a Node must be gone before its Pods are deleted, because it may be created again. */
const NODE_GONE_MS = 40_000

const GONE: WantedCondition = {
  type: DISRUPTION,
  status: 'True',
  reason: NODE_GONE,
  message: 'The node of the Pod is gone.',
}

const RETURNED: WantedCondition = {
  type: DISRUPTION,
  status: 'False',
  reason: 'NodeReturned',
  message: 'The node of the Pod exists again.',
}

/**
 * Deletes Pods that no node agent deletes: those whose Node is gone, and those that are being deleted and have
 * no node. The condition `DisruptionTarget` of a Pod records when its Node was found to be gone; it becomes
 * False when the Node exists again.
 */
export const podCollector: Controller = {
  name: 'podcollector',
  account: 'pod-garbage-collector',
  watches: { pods: ({ key }) => [key], nodes: podsOfNode(() => true) },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const pod = view.pods.get(key)
  if (pod === undefined) return SETTLED
  const isNodeMissing = pod.nodeName !== '' && view.nodes.get(pod.nodeName) === undefined
  const announced = announcement(pod, isNodeMissing, now)
  const dueMs = dueAt(pod, isNodeMissing, now) - now
  if (dueMs <= 0) return { writes: [removal(pod, isNodeMissing)] }
  if (dueMs === Number.POSITIVE_INFINITY) return { writes: announced }
  return { writes: announced, againMs: dueMs }
}

/** When the Pod is deleted, in milliseconds since the epoch; infinite: not by this controller. */
function dueAt(pod: PodObject, isNodeMissing: boolean, now: number): number {
  const { nodeName, graceEndsAt, graceSeconds } = pod
  const isFree = isNodeMissing || nodeName === ''
  const ends = isFree && graceSeconds > 0 ? time(graceEndsAt, now) : Number.POSITIVE_INFINITY
  const isHeld = pod.meta.terminating && graceSeconds === 0
  const lost =
    isNodeMissing && !isHeld ? time(goneSince(pod), now) + NODE_GONE_MS : Number.POSITIVE_INFINITY
  return Math.min(ends, lost)
}

/** When the Node of the Pod was found to be gone, RFC 3339; empty when it is not gone. */
function goneSince({ disruption }: PodObject): string {
  return disruption.reason === NODE_GONE ? disruption.lastTransitionTime : ''
}

function time(text: string, otherwise: number): number {
  const parsed = Date.parse(text)
  return Number.isNaN(parsed) ? otherwise : parsed
}

/** The deletion without a grace period. If the Node is missing, the server must confirm that. */
function removal({ meta, nodeName }: PodObject, isNodeMissing: boolean): Deletion {
  const node = { collection: 'nodes', namespace: '', name: nodeName, uid: '' } as const
  const absent = isNodeMissing ? [node] : []
  return { verb: 'delete', collection: 'pods', meta, absent, graceSeconds: 0 }
}

/** The write of the condition, if it changes. One that another controller wrote is replaced, with a new time. */
function announcement(pod: PodObject, isNodeMissing: boolean, now: number): readonly Patch[] {
  const isAnnounced = goneSince(pod) !== ''
  if (isNodeMissing === isAnnounced) return []
  const known = isAnnounced ? pod.disruption : { ...pod.disruption, status: '' }
  const conditions = [setCondition(known, isNodeMissing ? GONE : RETURNED, now)]
  return [statusPatch('pods', pod.meta, { conditions })]
}

/** `--terminated-pod-gc-threshold` of kube-controller-manager. */
const MAX_FINISHED = 12_500

/** The only key of the controller: all finished Pods are reconciled together. */
const FINISHED_KEY = 'finished'

/** Keeps at most `maxPods` Pods that have succeeded or failed, and deletes the oldest ones. */
export function createFinishedPodsController(maxPods: number = MAX_FINISHED): Controller {
  return {
    name: 'finishedpods',
    account: 'pod-garbage-collector',
    watches: {
      pods: ({ after }) => (after?.finished === true ? [FINISHED_KEY] : []),
    },
    reconcile: (_, view) => reconcileFinished(view, maxPods),
  }
}

function reconcileFinished(view: View, maxPods: number): Reconciliation {
  if (view.pods.groupSize(FINISHED_GROUP) <= maxPods) return SETTLED
  const kept = [...view.pods.group(FINISHED_GROUP)].filter(({ meta }) => !meta.terminating)
  const surplus = kept.toSorted(byAge).slice(0, Math.max(0, kept.length - maxPods))
  return {
    writes: surplus.map(({ meta }) => ({ verb: 'delete', collection: 'pods', meta })),
  }
}
