import { DISRUPTION, NODE_GONE } from '../../resources/condition-names.ts'
import { setCondition, type WantedCondition } from '../../resources/status-condition.ts'
import { podsOfNode } from '../cache/affects.ts'
import type { View } from '../cache/view.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import type { Deletion, Patch } from '../runner/writing/write.ts'

/** How long a node may be gone before its pods are: it may be made anew. */
const GONE_MS = 40_000

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
  message: 'The node of the Pod is there again.',
}

/**
 * Deletes pods whose node is gone, which nothing else would delete. The time since
 * when a node is gone is a condition of its pods, the one by which Kubernetes announces
 * a disruption; it is withdrawn when the node returns.
 */
export const podCollector: Controller = {
  name: 'podcollector',
  watches: { pods: ({ key }) => [key], nodes: podsOfNode(() => true) },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const pod = view.pods.get(key)
  if (pod === undefined) return SETTLED
  const isMissed = pod.nodeName !== '' && view.nodes.get(pod.nodeName) === undefined
  const announced = announcement(pod, isMissed, now)
  const dueMs = dueAt(pod, isMissed, now) - now
  if (dueMs <= 0) return { writes: [removal(pod, isMissed)] }
  if (dueMs === Number.POSITIVE_INFINITY) return { writes: announced }
  return { writes: announced, againMs: dueMs }
}

/** When the pod is to go, in milliseconds since the epoch; infinite: not by this. */
function dueAt(pod: PodObject, isMissed: boolean, now: number): number {
  const { nodeName, graceEndsAt, graceSeconds } = pod
  const isFree = isMissed || nodeName === ''
  const ends = isFree && graceSeconds > 0 ? time(graceEndsAt, now) : Number.POSITIVE_INFINITY
  const isHeld = pod.meta.terminating && graceSeconds === 0
  const lost = isMissed && !isHeld ? time(goneSince(pod), now) + GONE_MS : Number.POSITIVE_INFINITY
  return Math.min(ends, lost)
}

/** Since when its node is known to be gone, RFC 3339; empty when it is not. */
function goneSince({ disruption }: PodObject): string {
  return disruption.reason === NODE_GONE ? disruption.lastTransitionTime : ''
}

function time(text: string, otherwise: number): number {
  const parsed = Date.parse(text)
  return Number.isNaN(parsed) ? otherwise : parsed
}

/** It goes without grace, if the server has no such node either. */
function removal({ meta, nodeName }: PodObject, isMissed: boolean): Deletion {
  const node = { collection: 'nodes', namespace: '', name: nodeName, uid: '' } as const
  const absent = isMissed ? [node] : []
  return { verb: 'delete', collection: 'pods', meta, absent, graceSeconds: 0 }
}

/** A disruption that another controller announced is another one, with a time of its own. */
function announcement(pod: PodObject, isMissed: boolean, now: number): readonly Patch[] {
  const isAnnounced = goneSince(pod) !== ''
  if (isMissed === isAnnounced) return []
  const known = isAnnounced ? pod.disruption : { ...pod.disruption, status: '' }
  const conditions = [setCondition(known, isMissed ? GONE : RETURNED, now)]
  const body = { status: { conditions } }
  return [{ verb: 'patch', collection: 'pods', meta: pod.meta, subresource: 'status', body }]
}
