import { NODE_SILENT, READY } from '../../resources/condition-names.ts'
import { setCondition, type WantedCondition } from '../../resources/status-condition.ts'
import type { View } from '../cache/view.ts'
import type { NodeObject } from '../objects/node-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import { eventWrite } from '../runner/writing/event-write.ts'
import type { Patch } from '../runner/writing/write.ts'
import { GRACE_MS, lifeOf, nodeOfLease } from './heartbeat.ts'

const WAS_READY = { reason: NODE_SILENT, message: 'The node stopped sending heartbeats.' }

/** Why the readiness is unknown, by the last status that the node reported. */
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
 * Sets the readiness of a node that is silent for too long to Unknown, and restores
 * it at the next heartbeat. A node without any heartbeat has no agent, and is
 * left alone. A node that was not ready reports itself when it is: only a readiness
 * that this controller has replaced is restored.
 */
export const nodeLifecycleController: Controller = {
  name: 'nodelifecycle',
  watches: {
    nodes: ({ key }) => [key],
    leases: ({ key }) => nodeOfLease(key),
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number, since: number): Reconciliation {
  const node = view.nodes.get(key)
  const life = node && lifeOf(node, view, { now, since })
  if (node === undefined || life === undefined) return SETTLED
  if (life.isSilent) return lost(node, now)
  return { writes: life.isHeard ? returned(node, now) : [], againMs: life.againMs }
}

function lost(node: NodeObject, now: number): Reconciliation {
  const cause = CAUSES.get(node.readiness.status)
  if (cause === undefined) return SETTLED
  const subject = { apiVersion: 'v1', kind: 'Node', meta: node.meta }
  const content = {
    controller: 'nodelifecycle',
    type: 'Warning',
    reason: 'NodeNotReady',
    message: `Node ${node.meta.name} is silent for more than ${GRACE_MS / 1000} s`,
  } as const
  const condition = { status: 'Unknown', ...cause } as const
  return { writes: [readiness(node, condition, now), eventWrite(subject, content, now)] }
}

/** Restores the readiness that `lost` replaced. */
function returned(node: NodeObject, now: number): readonly Patch[] {
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
