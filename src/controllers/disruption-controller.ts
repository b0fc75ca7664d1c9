import { isDeepEqual } from '../lib/equal.ts'
import { type JsonObject, objectAt, without } from '../lib/json.ts'
import { selectsLabels } from '../resources/label-selector.ts'
import { readCondition, setCondition } from '../resources/status-condition.ts'
import { namespaceGroup } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import type { BudgetObject } from './objects/plain-objects.ts'
import type { PodObject } from './objects/pod-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { statusPatch } from './runner/write.ts'

const ALLOWED = 'DisruptionAllowed'

/** An evicted Pod that is not being deleted after this time was not evicted. */
const EVICTION_MS = 120_000

/**
 * Counts the Pods of PodDisruptionBudgets, and how many of them may be evicted. Only `minAvailable` as a number permits
 * evictions: a share and `maxUnavailable` are of the Pods that there should be, which only the controller of the
 * Pods knows, and this server has none. A key is `namespace/name` of a budget.
 */
export const disruptionController: Controller = {
  name: 'disruption',
  account: 'disruption-controller',
  watches: {
    poddisruptionbudgets: ({ key, after }) => (after === undefined ? [] : [key]),
    pods: budgetsOf,
  },
  reconcile,
}

/** The budgets that count a Pod before or after its change. */
function budgetsOf({ before, after }: ObjectChange<PodObject>, view: View): readonly string[] {
  const pods = [before, after].filter((pod) => pod !== undefined)
  const namespace = pods[0]?.meta.namespace ?? ''
  return [...view.poddisruptionbudgets.group(namespaceGroup(namespace))]
    .filter((budget) => pods.some((pod) => isOf(budget, pod)))
    .map(({ meta }) => meta.key)
}

function isOf({ selector }: BudgetObject, { meta }: PodObject): boolean {
  return selector !== undefined && selectsLabels(selector, meta.labels)
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const budget = view.poddisruptionbudgets.get(key)
  if (budget === undefined || budget.meta.terminating) return SETTLED
  const pods = [...view.pods.group(namespaceGroup(budget.meta.namespace))].filter((pod) =>
    isOf(budget, pod),
  )
  const evicted = pendingEvictions(budget, pods, now)
  const status = statusOf(budget, { pods, evicted, now })
  const ends = Object.values(evicted).map((time) => Date.parse(time) + EVICTION_MS - now)
  const againMs = ends.length === 0 ? {} : { againMs: Math.max(1, Math.min(...ends)) }
  const known = objectAt(budget.status, 'disruptedPods')
  const isSame = isDeepEqual(
    without(status, 'disruptedPods'),
    without(budget.status, 'disruptedPods'),
  )
  if (isSame && isDeepEqual(known, { ...evicted })) return { writes: [], ...againMs }
  const removed = Object.keys(known).filter((name) => evicted[name] === undefined)
  const disruptedPods = { ...evicted, ...Object.fromEntries(removed.map((name) => [name, null])) }
  const body = { ...status, ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }) }
  return { writes: [statusPatch('poddisruptionbudgets', budget.meta, body)], ...againMs }
}

/** The evictions that the server answered and whose Pods are not being deleted yet, as the caches show them. */
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
  readonly evicted: Readonly<Record<string, string>>
  readonly now: number
}

function statusOf(budget: BudgetObject, { pods, evicted, now }: Counted): JsonObject {
  const { minAvailable, generation } = budget
  const counted = pods.filter(({ finished }) => !finished)
  const currentHealthy = counted.filter(
    ({ meta, ready }) => ready && !meta.terminating && evicted[meta.name] === undefined,
  ).length
  const expectedPods = minAvailable === undefined ? 0 : counted.length
  const desiredHealthy = minAvailable ?? 0
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
  const isAllowed = disruptionsAllowed > 0
  const condition = setCondition(
    readCondition(budget.status, ALLOWED),
    {
      type: ALLOWED,
      status: isAllowed ? 'True' : 'False',
      reason: isAllowed ? 'SufficientPods' : 'InsufficientPods',
      message: minAvailable === undefined ? NO_CONTROLLER : '',
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

const NO_CONTROLLER =
  'this server knows of no controller how many pods there should be: give minAvailable as a number'
