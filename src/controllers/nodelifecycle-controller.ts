import { NODE_SILENT, READY } from '../resources/label-names.ts'
import { NODE_LEASES } from '../resources/names.ts'
import { setCondition, type WantedCondition } from '../resources/status-condition.ts'
import type { View } from './cache/object-cache.ts'
import { podsOfNode } from './cache/selection.ts'
import type { NodeObject } from './objects/node-object.ts'
import type { PodObject } from './objects/pod-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { eventWrite, type Patch, statusPatch } from './runner/write.ts'

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
  reconcile: reconcileNode,
}

function reconcileNode(key: string, view: View, now: number, since: number): Reconciliation {
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
  return statusPatch('nodes', meta, { conditions })
}

/**
 * Marks the ready Pods of a node whose readiness is Unknown as not ready, so that they are not ready endpoints.
 * When the node sends heartbeats again, they become ready again, until its agent writes another state. While a
 * node is not silent, what its agent wrote stays, whatever condition the Node has.
 */
export const podReadinessController: Controller = {
  name: 'podreadiness',
  account: 'node-controller',
  watches: { pods: ({ key }) => [key], nodes: podsOfNode(({ readiness }) => readiness.status) },
  reconcile: reconcilePod,
}

function reconcilePod(key: string, view: View, now: number, since: number): Reconciliation {
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
    return podReadiness(pod, { status: 'True', reason: null, message: null }, now)
  }
  return SETTLED
}

function markNotReady(pod: PodObject, now: number): Reconciliation {
  const message = 'The node of the Pod stopped sending heartbeats.'
  return podReadiness(pod, { status: 'False', reason: NODE_SILENT, message }, now)
}

function podReadiness(
  { meta, readiness: known }: PodObject,
  wanted: Omit<WantedCondition, 'type'>,
  now: number,
): Reconciliation {
  const conditions = [setCondition(known, { type: READY, ...wanted }, now)]
  return { writes: [statusPatch('pods', meta, { conditions })] }
}

/** How long a node may send no heartbeat before it counts as silent; it sends one every ten seconds. */
export const SILENCE_MS = 40_000

/** Whether a node sends heartbeats. */
interface Liveness {
  /** A heartbeat was seen within the last `SILENCE_MS`. */
  readonly isHeard: boolean
  /** No heartbeat was seen for `SILENCE_MS` during which every watch was open. */
  readonly isSilent: boolean
  /** Milliseconds after which the node counts as silent if it sends no heartbeat until then. */
  readonly againMs: number
}

/**
 * Whether a node sends heartbeats, by changes of its Lease or its status. Only the clock of this replica
 * counts, and only the time since its watches were opened (`since`), so neither a wrong clock of the node nor
 * an outage of the server makes a node silent. `now` and `since` are in milliseconds since the epoch.
 * Undefined: the node never sends heartbeats.
 */
function livenessOf(
  { meta, heartbeatAt }: NodeObject,
  view: View,
  { now, since }: { readonly now: number; readonly since: number },
): Liveness | undefined {
  const leaseKey = `${NODE_LEASES}/${meta.name}`
  const renewedAt = view.leases.get(leaseKey)?.renewedAt ?? ''
  if (renewedAt === '' && heartbeatAt === '') return undefined
  const heardAt = [view.leases.heardAt(leaseKey), view.nodes.heardAt(meta.key)]
    .filter((at) => at !== undefined)
    // One that is later than now was seen before the clock of this replica was set back.
    .filter((at) => at <= now)
  const silentMs = Math.max(0, now - Math.max(since, ...heardAt))
  const isHeard = heardAt.some((at) => now - at < SILENCE_MS)
  return { isHeard, isSilent: silentMs >= SILENCE_MS, againMs: SILENCE_MS - silentMs }
}

/** Keys of the Nodes that a Lease concerns: the one of its name, if it is in the namespace of node leases. */
export function nodeOfLease(key: string): readonly string[] {
  const [namespace, name = ''] = key.split('/')
  return namespace === NODE_LEASES ? [name] : []
}
