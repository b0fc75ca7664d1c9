import { isDeepEqual } from '../lib/equal.ts'
import { type JsonObject, objectAt, valueAt, without } from '../lib/json.ts'
import { DISRUPTION } from '../resources/label-names.ts'
import { labelMatcher } from '../resources/label-selector.ts'
import { readCondition, setCondition, type WantedCondition } from '../resources/status-condition.ts'
import { labelGroup, namespaceGroup } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import { controllerOf, keyOf, type ObjectMeta } from './objects/object-meta.ts'
import type { BudgetObject } from './objects/plain-objects.ts'
import type { PodObject } from './objects/pod-object.ts'
import type { WorkloadObject } from './objects/workload-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { type EventWrite, eventWrite, statusPatch } from './runner/write.ts'
import { scaledValue } from './workloads/shared/scaled-value.ts'

const ALLOWED = 'DisruptionAllowed'

/** The prefix of the keys of Pods whose deletion was announced. */
const ANNOUNCED = 'pod '

/** Reason of `DisruptionTarget` when the kubelet ends the Pod, for which it may take its time. */
const BY_KUBELET = 'TerminationByKubelet'

/** A condition that is no longer True, as Kubernetes leaves it. */
const WITHDRAWN: WantedCondition = {
  type: DISRUPTION,
  status: 'False',
  reason: null,
  message: null,
}

/** If a Pod is not being deleted this long after its eviction or deletion was announced, the announcement is withdrawn. */
const EVICTION_MS = 120_000

/**
 * Counts the Pods of PodDisruptionBudgets, and how many of them may be evicted. A share, and `maxUnavailable`, refer to the
 * number of Pods that should exist, by `replicas` of their Deployments, ReplicaSets and StatefulSets. Where this is not known,
 * because a Pod belongs to none of these, no Pod may be evicted. The condition `DisruptionTarget` of a Pod that is not deleted
 * becomes False. A key is `namespace/name` of a budget, or after `pod ` that of a Pod.
 */
export const disruptionController: Controller = {
  name: 'disruption',
  account: 'disruption-controller',
  watches: {
    poddisruptionbudgets: ({ key, after }) => (after === undefined ? [] : [key]),
    pods: (change, view) => [...budgetsOf(change, view), ...announcedPod(change)],
    deployments: budgetsByScale,
    replicasets: budgetsByScale,
    statefulsets: budgetsByScale,
  },
  reconcile: (key, view, now) =>
    key.startsWith(ANNOUNCED)
      ? withdraw(view.pods.get(key.slice(ANNOUNCED.length)), now)
      : reconcileBudget(key, view, now),
}

function announcedPod({ key, after }: ObjectChange<PodObject>): readonly string[] {
  return after !== undefined && isAnnounced(after) ? [ANNOUNCED + key] : []
}

/** Whether a Pod is about to be deleted, and is not yet. */
function isAnnounced({ meta, finished, disruption }: PodObject): boolean {
  const { status, reason } = disruption
  return !meta.terminating && !finished && status === 'True' && reason !== BY_KUBELET
}

function withdraw(pod: PodObject | undefined, now: number): Reconciliation {
  if (pod === undefined || !isAnnounced(pod)) return SETTLED
  const { meta, disruption } = pod
  const againMs = (Date.parse(disruption.lastTransitionTime) || 0) + EVICTION_MS - now
  if (againMs > 0) return { writes: [], againMs }
  const conditions = [setCondition(disruption, WITHDRAWN, now)]
  return { writes: [statusPatch('pods', meta, { conditions })] }
}

/** The budgets that count a Pod before or after its change; none if it changes nothing that they regard. */
function budgetsOf({ before, after }: ObjectChange<PodObject>, view: View): readonly string[] {
  if (isDeepEqual(before && podFacts(before), after && podFacts(after))) return []
  const pods = [before, after].filter((pod) => pod !== undefined)
  const namespace = pods[0]?.meta.namespace ?? ''
  return [...view.poddisruptionbudgets.group(namespaceGroup(namespace))]
    .filter((budget) => pods.some(selectionOf(budget)))
    .map(({ meta }) => meta.key)
}

function podFacts({ meta, ready, finished }: PodObject): unknown {
  return [meta.uid, meta.labels, meta.terminating, controllerOf(meta)?.reference, ready, finished]
}

function selectionOf({ selector }: BudgetObject): (pod: PodObject) => boolean {
  const matches = selector === undefined ? () => false : labelMatcher(selector)
  return ({ meta }) => matches(meta.labels)
}

/** The budgets that may depend on how many Pods a workload should have. */
function budgetsByScale(
  { before, after }: ObjectChange<WorkloadObject>,
  view: View,
): readonly string[] {
  if (isDeepEqual(before && scaleFacts(before), after && scaleFacts(after))) return []
  const namespace = (before ?? after)?.meta.namespace ?? ''
  return [...view.poddisruptionbudgets.group(namespaceGroup(namespace))]
    .filter(takesScale)
    .map(({ meta }) => meta.key)
}

function scaleFacts({ meta, replicas }: WorkloadObject): unknown {
  return [meta.uid, controllerOf(meta)?.uid, replicas]
}

/** Whether the limit of a budget refers to the number of Pods that should exist. */
function takesScale({ minAvailable, maxUnavailable }: BudgetObject): boolean {
  return maxUnavailable !== undefined || typeof minAvailable === 'string'
}

function reconcileBudget(key: string, view: View, now: number): Reconciliation {
  const budget = view.poddisruptionbudgets.get(key)
  if (budget === undefined || budget.meta.terminating) return SETTLED
  const pods = [...view.pods.group(groupFor(budget))].filter(selectionOf(budget))
  const wanted = wantedPods(budget, pods, view)
  return 'problem' in wanted
    ? fail(budget, wanted, now)
    : count(budget, { pods, wanted, evicted: pendingEvictions(budget, pods, now), now })
}

/** A group with all Pods that a budget selects: those with the first label of its selector, else those of its namespace. */
function groupFor({ meta, selector }: BudgetObject): string {
  const [first] = Object.entries(objectAt(selector, 'matchLabels'))
  return first !== undefined && typeof first[1] === 'string'
    ? labelGroup(meta.namespace, [first[0], first[1]])
    : namespaceGroup(meta.namespace)
}

/** How many Pods there should be, and how many of them have to be healthy. */
interface WantedPods {
  readonly expectedPods: number
  readonly desiredHealthy: number
}

/** Why it is not known how many Pods there should be. */
interface Failure {
  /** The reason of the Event. */
  readonly reason: string
  readonly problem: string
}

function wantedPods(
  budget: BudgetObject,
  pods: readonly PodObject[],
  view: View,
): WantedPods | Failure {
  const { minAvailable, maxUnavailable } = budget
  const counted = pods.filter(({ finished }) => !finished)
  if (!takesScale(budget)) {
    const expectedPods = minAvailable === undefined ? 0 : counted.length
    return { expectedPods, desiredHealthy: Number(minAvailable ?? 0) }
  }
  const expectedPods = scaleOfAll(counted, view)
  if (typeof expectedPods !== 'number') return expectedPods
  const share = scaledValue(maxUnavailable ?? minAvailable, expectedPods, 'up')
  const desiredHealthy = maxUnavailable === undefined ? share : Math.max(0, expectedPods - share)
  return { expectedPods, desiredHealthy }
}

/** The sum of `replicas` of the workloads whose Pods these are, or the problem with the first of these by name. */
function scaleOfAll(pods: readonly PodObject[], view: View): number | Failure {
  const scales = new Map<string, number>()
  for (const pod of pods.toSorted((a, b) => (a.meta.name < b.meta.name ? -1 : 1))) {
    const name = JSON.stringify(pod.meta.name)
    if (controllerOf(pod.meta) === undefined) {
      return { reason: 'NoControllerRef', problem: `found no controller ref for pod ${name}` }
    }
    const workload = scaledWorkload(pod.meta, view)
    if (workload === undefined) {
      return { reason: 'NoControllers', problem: `found no controllers for pod ${name}` }
    }
    scales.set(workload.meta.uid, workload.replicas)
  }
  return [...scales.values()].reduce((sum, replicas) => sum + replicas, 0)
}

/** The kinds that say how many Pods there should be. */
const SCALED: ReadonlyMap<string, 'deployments' | 'replicasets' | 'statefulsets'> = new Map([
  ['Deployment', 'deployments'],
  ['ReplicaSet', 'replicasets'],
  ['StatefulSet', 'statefulsets'],
])

/** The workload that controls an object; instead of a ReplicaSet its Deployment, if it has one. */
function scaledWorkload(meta: ObjectMeta, view: View): WorkloadObject | undefined {
  const owner = controllerOf(meta)
  const collection = owner?.apiVersion.startsWith('apps/') ? SCALED.get(owner.kind) : undefined
  if (owner === undefined || collection === undefined) return undefined
  const found = view[collection].get(keyOf({ namespace: meta.namespace, name: owner.name }))
  if (found === undefined || found.meta.uid !== owner.uid) return undefined
  const isOfDeployment =
    collection === 'replicasets' && controllerOf(found.meta)?.kind === 'Deployment'
  return (isOfDeployment && scaledWorkload(found.meta, view)) || found
}

function fail(budget: BudgetObject, { reason, problem }: Failure, now: number): Reconciliation {
  const observed = valueAt(budget.status, 'observedGeneration')
  const condition = allowance(
    budget,
    { status: 'False', reason: 'SyncFailed', message: problem },
    now,
  )
  const status = {
    ...without(budget.status, 'conditions'),
    disruptionsAllowed: 0,
    conditions: [{ ...condition, ...(observed !== undefined && { observedGeneration: observed }) }],
  }
  if (isDeepEqual(status, budget.status)) return SETTLED
  const { reason: known, message } = readCondition(budget.status, ALLOWED)
  const isReported = known === 'SyncFailed' && message === problem
  const sentence = `Failed to calculate the number of expected pods: ${problem}`
  return {
    writes: [
      statusPatch('poddisruptionbudgets', budget.meta, status),
      ...(isReported
        ? []
        : [
            report(budget, ['Warning', reason, problem], now),
            report(budget, ['Warning', 'CalculateExpectedPodCountFailed', sentence], now),
          ]),
    ],
  }
}

function report(
  { meta }: BudgetObject,
  [type, reason, message]: readonly ['Normal' | 'Warning', string, string],
  now: number,
): EventWrite {
  const subject = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', meta }
  const content = { controller: 'disruption', component: 'controllermanager' } as const
  return eventWrite(subject, { ...content, type, reason, message }, now)
}

function count(budget: BudgetObject, counted: Counted): Reconciliation {
  const { pods, evicted, now } = counted
  const status = statusOf(budget, counted)
  const ends = Object.values(evicted).map((time) => Date.parse(time) + EVICTION_MS - now)
  const againMs = ends.length === 0 ? {} : { againMs: Math.max(1, Math.min(...ends)) }
  const known = objectAt(budget.status, 'disruptedPods')
  const isSame = isDeepEqual(
    without(status, 'disruptedPods'),
    without(budget.status, 'disruptedPods'),
  )
  if (isSame && isDeepEqual(known, { ...evicted })) return { writes: [], ...againMs }
  const removed = Object.keys(known).filter((name) => !Object.hasOwn(evicted, name))
  const disruptedPods = { ...evicted, ...Object.fromEntries(removed.map((name) => [name, null])) }
  const body = { ...status, ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }) }
  const none = ['Normal', 'NoPods', 'No matching pods found'] as const
  return {
    writes: [
      statusPatch('poddisruptionbudgets', budget.meta, body),
      ...(pods.length === 0 ? [report(budget, none, now)] : []),
    ],
    ...againMs,
  }
}

/** The evictions that the server admitted less than `EVICTION_MS` ago and whose Pods are not being deleted yet, by Pod. */
function pendingEvictions(
  { status }: BudgetObject,
  pods: readonly PodObject[],
  now: number,
): Readonly<Record<string, string>> {
  const present = new Set(pods.filter(({ meta }) => !meta.terminating).map(({ meta }) => meta.name))
  const known = Object.entries(objectAt(status, 'disruptedPods')).flatMap(([name, time]) =>
    typeof time === 'string' ? [[name, time] as const] : [],
  )
  return Object.fromEntries(
    known.filter(([name, time]) => present.has(name) && Date.parse(time) + EVICTION_MS > now),
  )
}

interface Counted {
  readonly pods: readonly PodObject[]
  readonly wanted: WantedPods
  readonly evicted: Readonly<Record<string, string>>
  readonly now: number
}

function statusOf(budget: BudgetObject, { pods, wanted, evicted, now }: Counted): JsonObject {
  const { generation } = budget
  const { expectedPods, desiredHealthy } = wanted
  const currentHealthy = pods.filter(
    ({ meta, ready, finished }) =>
      ready && !finished && !meta.terminating && !Object.hasOwn(evicted, meta.name),
  ).length
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
  const isAllowed = disruptionsAllowed > 0
  const condition = allowance(
    budget,
    {
      status: isAllowed ? 'True' : 'False',
      reason: isAllowed ? 'SufficientPods' : 'InsufficientPods',
      message: '',
    },
    now,
  )
  return {
    ...without(budget.status, 'disruptedPods', 'conditions'),
    observedGeneration: generation,
    ...(Object.keys(evicted).length > 0 && { disruptedPods: { ...evicted } }),
    currentHealthy,
    desiredHealthy,
    disruptionsAllowed,
    expectedPods,
    conditions: [{ ...condition, observedGeneration: generation }],
  }
}

function allowance(
  { status }: BudgetObject,
  wanted: Omit<WantedCondition, 'type'>,
  now: number,
): JsonObject {
  return setCondition(readCondition(status, ALLOWED), { type: ALLOWED, ...wanted }, now)
}
