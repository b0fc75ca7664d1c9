import { NODE_SILENT, READY } from '../../resources/condition-names.ts'
import { setCondition, type WantedCondition } from '../../resources/status-condition.ts'
import { podsOfNode } from '../cache/affects.ts'
import type { View } from '../cache/view.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import { lifeOf } from './heartbeat.ts'

/**
 * Pods of a node whose readiness is unknown are not ready, and so they are no
 * ready endpoints. When the node reports again, they have their earlier readiness
 * until its agent writes another one. The readiness that an agent wrote is valid as
 * long as its node is not silent, whatever condition the Node still has.
 */
export const podReadinessController: Controller = {
  name: 'podreadiness',
  watches: { pods: ({ key }) => [key], nodes: podsOfNode(({ readiness }) => readiness.status) },
  reconcile,
}

function reconcile(key: string, view: View, now: number, since: number): Reconciliation {
  const pod = view.pods.get(key)
  const node = pod && view.nodes.get(pod.nodeName)
  if (pod === undefined || node === undefined) return SETTLED
  const isLost = node.readiness.status === 'Unknown'
  const isTaken = !pod.ready && pod.readiness.reason === NODE_SILENT
  if (isLost && pod.ready) {
    const life = lifeOf(node, view, { now, since })
    return life?.isSilent === false ? { writes: [], againMs: life.againMs } : taken(pod, now)
  }
  if (!isLost && isTaken) {
    return readiness(pod, { status: 'True', reason: null, message: null }, now)
  }
  return SETTLED
}

function taken(pod: PodObject, now: number): Reconciliation {
  const message = 'The node of the Pod stopped sending heartbeats.'
  return readiness(pod, { status: 'False', reason: NODE_SILENT, message }, now)
}

function readiness(
  { meta, readiness: known }: PodObject,
  wanted: Omit<WantedCondition, 'type'>,
  now: number,
): Reconciliation {
  const conditions = [setCondition(known, { type: READY, ...wanted }, now)]
  const body = { status: { conditions } }
  return { writes: [{ verb: 'patch', collection: 'pods', meta, subresource: 'status', body }] }
}
