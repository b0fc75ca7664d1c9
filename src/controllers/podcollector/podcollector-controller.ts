import { timestamp } from '../../lib/timestamp.ts'
import { DISRUPTION, NODE_GONE } from '../objects/names.ts'
import type { PodObject } from '../objects/pod-object.ts'
import { podsOfNode } from '../objects/pods-of-node.ts'
import type { View } from '../objects/view.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import type { Deletion, Patch } from '../runner/write.ts'

/** How long a node may be gone before its pods are: it may be made anew. */
const GONE_MS = 40_000

/**
 * Removes pods that have no node which would do it. Since when a node is gone
 * is written on its pods, as the condition by which the ecosystem announces
 * such an end, and taken back when the node returns.
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
  const { nodeName, nodeGoneSince, graceEndsAt, graceSeconds } = pod
  const isFree = isMissed || nodeName === ''
  const ends = isFree && graceSeconds > 0 ? time(graceEndsAt, now) : Number.POSITIVE_INFINITY
  const isHeld = pod.terminating && graceSeconds === 0
  const lost = isMissed && !isHeld ? time(nodeGoneSince, now) + GONE_MS : Number.POSITIVE_INFINITY
  return Math.min(ends, lost)
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

function announcement(pod: PodObject, isMissed: boolean, now: number): readonly Patch[] {
  if (isMissed === (pod.nodeGoneSince !== '')) return []
  const said = isMissed
    ? { status: 'True', reason: NODE_GONE, message: 'The node of the Pod is gone.' }
    : { status: 'False', reason: 'NodeReturned', message: 'The node of the Pod is there again.' }
  const conditions = [{ type: DISRUPTION, ...said, lastTransitionTime: timestamp(now) }]
  const body = { status: { conditions } }
  return [{ verb: 'patch', collection: 'pods', meta: pod.meta, subresource: 'status', body }]
}
