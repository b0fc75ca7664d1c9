import type { ApiFailure } from '../../client/http/failure.ts'
import { objectAt } from '../../lib/json.ts'
import { selectsLabels } from '../../resources/label-selector.ts'
import { readCondition, setCondition } from '../../resources/status-condition.ts'
import type { View } from '../cache/object-cache.ts'
import { isEmpty } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { WorkloadObject } from '../objects/workload-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import { eventWrite, statusPatch, type Write } from '../runner/write.ts'
import { claimPods, podOf, untilAvailable, workloadsOfPod } from './shared/pods-of.ts'
import { type Conditions, conditionsOf, statusDifference } from './shared/status-difference.ts'
import { byDeletionOrder, isActive } from './shared/surplus-pods.ts'

const NAME = 'replicaset'
const FAILURE = 'ReplicaFailure'
/** Pods that one reconcile makes or deletes; the next one follows at once. */
const BURST = 500

/** Makes and deletes Pods until each ReplicaSet has as many as it wants. A key is `namespace/name` of a ReplicaSet. */
export const replicaSetController: Controller = {
  name: NAME,
  account: 'replicaset-controller',
  watches: {
    replicasets: ({ key, after }) => (after === undefined ? [] : [key]),
    pods: workloadsOfPod('replicasets'),
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const set = view.replicasets.get(key)
  if (set === undefined) return SETTLED
  const claimed = claimPods('replicasets', set, view)
  if (claimed.writes.length > 0) return { writes: claimed.writes, dirty: [key] }
  const state: State = { set, pods: claimed.pods.filter(isActive), view, now }
  const surplus = set.meta.terminating ? 0 : state.pods.length - set.replicas
  const changes = surplus < 0 ? creations(state, -surplus) : deletions(state, surplus)
  const writes = [...changes.slice(0, BURST), ...statusWrites(state, withoutFailure(set))]
  const waiting = state.pods
    .map((pod) => untilAvailable(pod, set.minReadyMs, now))
    .filter((ms) => ms > 0 && Number.isFinite(ms))
  return {
    writes,
    ...(waiting.length > 0 && { againMs: Math.min(...waiting) }),
    ...(changes.length > BURST && { dirty: [key] }),
  }
}

interface State {
  readonly set: WorkloadObject
  /** The Pods that it controls and that are active. */
  readonly pods: readonly PodObject[]
  readonly view: View
  readonly now: number
}

function creations(state: State, count: number): readonly Write[] {
  const pod = podOf('replicasets', state.set, { name: `${state.set.meta.name}-` })
  const create: Write = {
    ...pod,
    done: (name) => [report(state, 'Normal', 'SuccessfulCreate', `Created pod: ${name}`)],
    refused: (failure) => refusal(state, 'FailedCreate', 'Error creating', failure),
  }
  return Array.from({ length: Math.min(count, BURST + 1) }, () => create)
}

function deletions(state: State, count: number): readonly Write[] {
  if (count === 0) return []
  const { set, pods, view } = state
  const ordered = count < pods.length ? byDeletionOrder(set, pods, view) : pods
  return ordered.slice(0, count).map(({ meta }) => ({
    verb: 'delete',
    collection: 'pods',
    meta,
    done: () => [report(state, 'Normal', 'SuccessfulDelete', `Deleted pod: ${meta.name}`)],
    refused: (failure) => refusal(state, 'FailedDelete', 'Error deleting', failure),
  }))
}

/** The condition, and an Event when the condition is new: the creation is tried again and again. */
function refusal(
  state: State,
  reason: string,
  what: string,
  { message }: ApiFailure,
): readonly Write[] {
  const { set, now } = state
  const conditions = conditionsOf(set.status)
  if (conditions.has(FAILURE)) return statusWrites(state, conditions)
  const wanted = { type: FAILURE, status: 'True', reason, message } as const
  const condition = setCondition(readCondition(set.status, FAILURE), wanted, now)
  return [
    report(state, 'Warning', reason, `${what}: ${message}`),
    ...statusWrites(state, new Map([...conditions, [FAILURE, condition]])),
  ]
}

function withoutFailure({ status }: WorkloadObject): Conditions {
  return new Map([...conditionsOf(status)].filter(([type]) => type !== FAILURE))
}

/** Counts the Pods as they were before this reconcile; those that it makes are counted when their events arrive. */
function statusWrites({ set, pods, now }: State, conditions: Conditions): readonly Write[] {
  const labels = objectAt(set.template, 'metadata', 'labels')
  const count = (test: (pod: PodObject) => boolean): number => pods.filter(test).length
  const counts = {
    replicas: pods.length,
    fullyLabeledReplicas: count(({ meta }) => selectsLabels({ matchLabels: labels }, meta.labels)),
    readyReplicas: count(({ ready }) => ready),
    availableReplicas: count((pod) => untilAvailable(pod, set.minReadyMs, now) === 0),
    observedGeneration: set.generation,
  }
  const body = statusDifference(set.status, counts, conditions, ['replicas'])
  return isEmpty(body) ? [] : [statusPatch('replicasets', set.meta, body)]
}

function report(
  { set: { meta }, now }: State,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): Write {
  const subject = { apiVersion: 'apps/v1', kind: 'ReplicaSet', meta }
  return eventWrite(subject, { controller: NAME, type, reason, message }, now)
}
