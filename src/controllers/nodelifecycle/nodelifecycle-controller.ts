import { NODE_SILENT, READY } from '../../resources/label-names.ts'
import { setCondition, type WantedCondition } from '../../resources/status-condition.ts'
import type { View } from '../cache/object-cache.ts'
import type { NodeObject } from '../objects/node-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import { eventWrite } from '../runner/event-write.ts'
import type { Patch } from '../runner/write.ts'
import { livenessOf, nodeOfLease, SILENCE_MS } from './heartbeat.ts'

const WAS_READY = { reason: NODE_SILENT, message: 'The node stopped sending heartbeats.' }

/** Reason and message of the condition, by the last status that the node reported. */
const CAUSES: ReadonlyMap<string, typeof WAS_READY> = new Map([
  ['True', WAS_READY],
  [
    'False',
    { reason: 'SilentWhileNotReady', message: 'The node was not ready, then fell silent.' },
  ],
  [
    '',
    { reason: 'NodeStatusNeverUpdated', message: 'The node never reported whether it is ready.' },
  ],
])

/**
 * Sets the readiness of a silent node to Unknown, and restores it at the next heartbeat. Only a readiness True
 * that this controller replaced is restored; the agent of a node that was not ready reports itself when it
 * becomes ready. A node that never sent a heartbeat has no agent, and is left unchanged.
 */
export const nodeLifecycleController: Controller = {
  name: 'nodelifecycle',
  account: 'node-controller',
  watches: {
    nodes: ({ key }) => [key],
    leases: ({ key }) => nodeOfLease(key),
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number, since: number): Reconciliation {
  const node = view.nodes.get(key)
  const liveness = node && livenessOf(node, view, { now, since })
  if (node === undefined || liveness === undefined) return SETTLED
  if (liveness.isSilent) return markUnknown(node, now)
  return { writes: liveness.isHeard ? restored(node, now) : [], againMs: liveness.againMs }
}

function markUnknown(node: NodeObject, now: number): Reconciliation {
  const cause = CAUSES.get(node.readiness.status)
  if (cause === undefined) return SETTLED
  const subject = { apiVersion: 'v1', kind: 'Node', meta: node.meta }
  const content = {
    controller: 'nodelifecycle',
    type: 'Warning',
    reason: 'NodeNotReady',
    message: `Node ${node.meta.name} is silent for more than ${SILENCE_MS / 1000} s`,
  } as const
  const condition = { status: 'Unknown', ...cause } as const
  return { writes: [readiness(node, condition, now), eventWrite(subject, content, now)] }
}

/** Restores the readiness that `markUnknown` replaced. */
function restored(node: NodeObject, now: number): readonly Patch[] {
  const { status, reason } = node.readiness
  if (status !== 'Unknown' || reason !== WAS_READY.reason) return []
  const message = 'The node sends heartbeats again.'
  return [readiness(node, { status: 'True', reason: 'HeartbeatsResumed', message }, now)]
}

function readiness(
  { meta, readiness }: NodeObject,
  wanted: Omit<WantedCondition, 'type'>,
  now: number,
): Patch {
  const conditions = [setCondition(readiness, { type: READY, ...wanted }, now)]
  return {
    verb: 'patch',
    collection: 'nodes',
    meta,
    subresource: 'status',
    body: { status: { conditions } },
  }
}
