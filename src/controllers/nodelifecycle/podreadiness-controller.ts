import { NODE_SILENT, READY } from '../../resources/label-names.ts'
import { setCondition, type WantedCondition } from '../../resources/status-condition.ts'
import type { View } from '../cache/object-cache.ts'
import { podsOfNode } from '../cache/selection.ts'
import type { PodObject } from '../objects/pod-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import { livenessOf } from './heartbeat.ts'

/**
 * Marks the ready Pods of a node whose readiness is Unknown as not ready, so that they are not ready endpoints.
 * When the node sends heartbeats again, they become ready again, until its agent writes another state. While a
 * node is not silent, what its agent wrote stays, whatever condition the Node has.
 */
export const podReadinessController: Controller = {
  name: 'podreadiness',
  account: 'node-controller',
  watches: { pods: ({ key }) => [key], nodes: podsOfNode(({ readiness }) => readiness.status) },
  reconcile,
}

function reconcile(key: string, view: View, now: number, since: number): Reconciliation {
  const pod = view.pods.get(key)
  const node = pod && view.nodes.get(pod.nodeName)
  if (pod === undefined || node === undefined) return SETTLED
  const isNodeUnknown = node.readiness.status === 'Unknown'
  const isMarked = !pod.ready && pod.readiness.reason === NODE_SILENT
  if (isNodeUnknown && pod.ready) {
    const liveness = livenessOf(node, view, { now, since })
    return liveness?.isSilent === false
      ? { writes: [], againMs: liveness.againMs }
      : markNotReady(pod, now)
  }
  if (!isNodeUnknown && isMarked) {
    return readiness(pod, { status: 'True', reason: null, message: null }, now)
  }
  return SETTLED
}

function markNotReady(pod: PodObject, now: number): Reconciliation {
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
