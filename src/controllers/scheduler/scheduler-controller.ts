import { isDeepEqual } from '../../lib/equal.ts'
import { conditionMatches, setCondition } from '../../resources/status-condition.ts'
import { UNBOUND_GROUP } from '../cache/collections.ts'
import type { ObjectChange, View } from '../cache/object-cache.ts'
import type { NodeObject } from '../objects/node-object.ts'
import { byAge, type MetadataObject } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import { type EventContent, eventWrite, statusPatch, type Write } from '../runner/write.ts'
import { chooseNode, type UnboundPod } from './choose-node.ts'

/** Two keys that stand for Pods without a node: all of them, and those whose placement depends on other Pods. */
const ALL_WAITING = 'waiting'
const DEPENDENT_WAITING = 'waiting for pods'

/** How long changes are gathered before Pods without a node are tried again. */
const GATHER_MS = 250

const SCHEDULED = 'PodScheduled'
const UNSCHEDULABLE = 'Unschedulable'
const GATED = {
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
}

/**
 * Binds the Pods of `default-scheduler` to nodes. A key is `namespace/name` of a Pod. A Pod that fits nowhere is tried again
 * when a change may let it fit. New Pods are tried before those that wait.
 */
export const scheduler: Controller = {
  name: 'scheduler',
  account: 'scheduler',
  workers: 1,
  priority: (key, view) =>
    isWaitingKey(key) ? Number.NEGATIVE_INFINITY : (view.pods.get(key)?.priority ?? 0),
  delayMs: (key) => (isWaitingKey(key) ? GATHER_MS : 0),
  watches: {
    pods: keysOfPod,
    nodes: keysOfNode,
    namespaces: keysOfNamespace,
    services: () => [],
  },
  reconcile,
}

function isWaitingKey(key: string): boolean {
  return key === ALL_WAITING || key === DEPENDENT_WAITING
}

/** The key of the Pod if it has to be tried, and the key of waiting Pods if the change may let them fit. */
function keysOfPod({ key, before, after }: ObjectChange<PodObject>, view: View): readonly string[] {
  if (after?.placement !== undefined) {
    // Its binding was refused, so other Pods may fit on that node.
    if (roleOf(before).node !== '') return [key, ALL_WAITING]
    return isDeepEqual(before && needsOf(before), needsOf(after)) ? [] : [key]
  }
  if (view.pods.groupSize(UNBOUND_GROUP) === 0 || isDeepEqual(roleOf(before), roleOf(after))) {
    return []
  }
  return roleOf(before).node === '' ? [DEPENDENT_WAITING] : [ALL_WAITING]
}

/** What of a Pod without a node decides where it may run: not its status. */
function needsOf({ meta, placement, requests, hostPorts, tolerations, antiAffinity }: PodObject) {
  const { uid, labels } = meta
  const needs = placement && { ...placement, condition: undefined }
  return { uid, labels, needs, requests, hostPorts, tolerations, antiAffinity }
}

/** What of a Pod matters for the placement of others. */
function roleOf(pod: PodObject | undefined) {
  if (pod === undefined || pod.finished) return { node: '' }
  const { nodeName: node, meta } = pod
  return { node, labels: meta.labels, terminating: meta.terminating }
}

function keysOfNode({ before, after }: ObjectChange<NodeObject>): readonly string[] {
  return isDeepEqual(before && factsOf(before), after && factsOf(after)) ? [] : [ALL_WAITING]
}

/** What of a Node decides which Pods it takes. */
function factsOf({ meta, readiness, unschedulable, taints, allocatable, maxPods }: NodeObject) {
  const { labels } = meta
  return { labels, ready: readiness.status, unschedulable, taints, allocatable, maxPods }
}

function keysOfNamespace({ before, after }: ObjectChange<MetadataObject>): readonly string[] {
  return isDeepEqual(before?.meta.labels, after?.meta.labels) ? [] : [DEPENDENT_WAITING]
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  if (isWaitingKey(key)) return { writes: [], dirty: waiting(key, view) }
  const pod = view.pods.get(key)
  if (pod?.placement === undefined || pod.meta.terminating) return SETTLED
  return { writes: bindOrReport({ pod, placement: pod.placement }, view, now) }
}

/** The keys of Pods without a node, the oldest first. */
function waiting(key: string, view: View): readonly string[] {
  const pods = [...view.pods.group(UNBOUND_GROUP)]
  const chosen = key === ALL_WAITING ? pods : pods.filter(dependsOnPods)
  return chosen.toSorted(byAge).map(({ meta }) => meta.key)
}

function dependsOnPods({ antiAffinity, placement }: PodObject): boolean {
  const { affinity = [], spread = [] } = placement ?? {}
  return antiAffinity.length > 0 || affinity.length > 0 || spread.some((one) => one.isRequired)
}

function bindOrReport(unbound: UnboundPod, view: View, now: number): readonly Write[] {
  const { pod, placement } = unbound
  if (placement.isGated) return reported(unbound, GATED, now)
  const choice = chooseNode(unbound, view)
  if ('problem' in choice) {
    const message = choice.problem
    const failed = { type: 'Warning', reason: 'FailedScheduling', message } as const
    const condition = reported(unbound, { reason: UNSCHEDULABLE, message }, now)
    return condition.length === 0 ? [] : [...condition, event(pod, failed, now)]
  }
  const { node } = choice
  const message = `Successfully assigned ${pod.meta.key} to ${node}`
  return [
    { verb: 'bind', collection: 'pods', meta: pod.meta, nodeName: node },
    event(pod, { type: 'Normal', reason: 'Scheduled', message }, now),
  ]
}

/** Writes the condition `PodScheduled`, unless the Pod has it. */
function reported(
  { pod, placement }: UnboundPod,
  cause: { readonly reason: string; readonly message: string },
  now: number,
): readonly Write[] {
  const wanted = { type: SCHEDULED, status: 'False', ...cause } as const
  if (conditionMatches(placement.condition, wanted)) return []
  const conditions = [setCondition(placement.condition, wanted, now)]
  return [statusPatch('pods', pod.meta, { conditions })]
}

function event(
  { meta }: PodObject,
  content: Omit<EventContent, 'controller' | 'component'>,
  now: number,
): Write {
  const subject = { apiVersion: 'v1', kind: 'Pod', meta }
  const reporter = { controller: 'scheduler', component: 'default-scheduler' }
  return eventWrite(subject, { ...content, ...reporter }, now)
}
