import { valueAt } from '../lib/json.ts'
import { DISRUPTION } from '../resources/label-names.ts'
import {
  conditionMatches,
  setCondition,
  type WantedCondition,
} from '../resources/status-condition.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import { podsOfNode } from './cache/selection.ts'
import { SILENCE_MS } from './nodelifecycle-controller.ts'
import { NODE_TAINTS, type NodeObject, type NodeTaint } from './objects/node-object.ts'
import type { PodObject } from './objects/pod-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { type Deletion, eventWrite, statusPatch } from './runner/write.ts'
import { tolerates } from './workloads/shared/node-match.ts'

const OUTAGES: readonly string[] = [NODE_TAINTS.notReady, NODE_TAINTS.unreachable]

/** The condition of a Pod that is deleted because of a taint, as in Kubernetes. */
const EVICTED: WantedCondition = {
  type: DISRUPTION,
  status: 'True',
  reason: 'DeletionByTaintManager',
  message: 'Taint manager: deleting due to NoExecute taint',
}

/**
 * Deletes the Pods of a node that do not tolerate its taints with the effect `NoExecute`, or not any longer. A toleration
 * with `tolerationSeconds` counts from the time of the taint, and for a Pod that got its node later, from then. The
 * condition `DisruptionTarget` of a Pod says first why it is deleted.
 */
export const taintEvictionController: Controller = {
  name: 'tainteviction',
  account: 'node-controller',
  watches: {
    pods: onTaintedNode,
    nodes: podsOfNode((node) => JSON.stringify(evictingTaints(node))),
  },
  reconcile,
}

function evictingTaints({ taints }: NodeObject): readonly NodeTaint[] {
  return taints.filter(({ effect }) => effect === 'NoExecute')
}

function onTaintedNode({ key, after }: ObjectChange<PodObject>, view: View): readonly string[] {
  const node = after && view.nodes.get(after.nodeName)
  return node !== undefined && evictingTaints(node).length > 0 ? [key] : []
}

function reconcile(key: string, view: View, now: number, since: number): Reconciliation {
  const pod = view.pods.get(key)
  const node = pod && view.nodes.get(pod.nodeName)
  if (pod === undefined || node === undefined || pod.meta.terminating) return SETTLED
  const taints = evictingTaints(node)
  const dueAt = Math.min(...taints.map((taint) => toleratedUntil(taint, pod, { now, since })))
  if (dueAt > now) {
    return Number.isFinite(dueAt) ? { writes: [], againMs: dueAt - now } : SETTLED
  }
  if (conditionMatches(pod.disruption, EVICTED)) return { writes: [eviction(pod, now)] }
  // The Pod is deleted at the version that it has afterwards.
  const conditions = [setCondition(pod.disruption, EVICTED, now)]
  return { writes: [statusPatch('pods', pod.meta, { conditions })], dirty: [key] }
}

/**
 * Until when a Pod tolerates a taint, in milliseconds since the epoch: by the first toleration that covers it, as in
 * Kubernetes; infinite: for ever. The taint of an outage may be stale when this replica begins to watch, so it counts only
 * after the time in which a heartbeat would have been seen. A taint without a time counts from now until nodetaints dates it.
 */
function toleratedUntil(
  taint: NodeTaint,
  { tolerations, boundAt, meta }: PodObject,
  { now, since }: { readonly now: number; readonly since: number },
): number {
  const toleration = tolerations.find((one) => tolerates(one, taint))
  const seconds = toleration === undefined ? 0 : valueAt(toleration, 'tolerationSeconds')
  if (typeof seconds !== 'number') return Number.POSITIVE_INFINITY
  const earliest = OUTAGES.includes(taint.key) ? since + SILENCE_MS : 0
  if (seconds <= 0) return earliest
  const added = Date.parse(taint.addedAt)
  const bound = Date.parse(boundAt || meta.createdAt)
  const start = Math.max(Number.isNaN(added) ? now : added, Number.isNaN(bound) ? 0 : bound)
  return Math.max(earliest, start + 1000 * seconds)
}

function eviction({ meta }: PodObject, now: number): Deletion {
  const content = {
    controller: 'tainteviction',
    component: 'taint-controller',
    type: 'Normal',
    reason: 'TaintManagerEviction',
    message: `Marking for deletion Pod ${meta.key}`,
  } as const
  const subject = { apiVersion: 'v1', kind: 'Pod', meta }
  return {
    verb: 'delete',
    collection: 'pods',
    meta,
    done: () => [eventWrite(subject, content, now)],
  }
}
