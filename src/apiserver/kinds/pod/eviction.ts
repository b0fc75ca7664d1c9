import { timestamp } from '../../../lib/duration.ts'
import { type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../../lib/json.ts'
import { DISRUPTION, READY } from '../../../resources/label-names.ts'
import { selectsLabels } from '../../../resources/label-selector.ts'
import type { Reader } from '../../../resources/reader.ts'
import { readCondition, setCondition } from '../../../resources/status-condition.ts'
import type { EvictionDecision, EvictionRules } from '../../resource/resource.ts'
import { forbidden, internalError, StatusError } from '../../status/status.ts'
import { podDisruptionBudgets } from '../pod-disruption-budget/resource.ts'
import { withCondition } from './binding.ts'

/** Evictions that the budget's controller has not seen yet, at most. */
const MAX_DISRUPTED = 2000
const RETRY_SECONDS = 10
/** These run nothing, so no budget is spent on them. */
const IDLE_PHASES = ['Pending', 'Succeeded', 'Failed']

/** `POST …/pods/<name>/eviction`: deletes a Pod if its PodDisruptionBudget permits it. */
export const podEviction: EvictionRules = {
  name: 'eviction',
  type: { group: 'policy', version: 'v1', kind: 'Eviction' },
  olderVersions: ['v1beta1'],
  budgets: podDisruptionBudgets,
  validate: checkEviction,
  decide,
  announced,
}

function checkEviction(document: Reader): void {
  document.object('deleteOptions')
}

/** Whether the Pod may be evicted now, and the budget that is spent on it. */
function decide(pod: JsonObject, budgets: Iterable<JsonObject>): EvictionDecision {
  const isIdle = IDLE_PHASES.includes(stringAt(pod, 'status', 'phase'))
  if (isIdle || stringAt(pod, 'metadata', 'deletionTimestamp') !== '') return 'permitted'
  const [budget, ...others] = [...budgets].filter((one) => isOf(one, pod))
  if (budget === undefined) return 'permitted'
  if (others.length > 0) {
    return internalError(
      'this pod has more than one PodDisruptionBudget, which the eviction subresource does not support',
    )
  }
  const isReady = readCondition(objectAt(pod, 'status'), READY).status === 'True'
  if (!isReady && spares(budget)) return 'permitted'
  const name = stringAt(pod, 'metadata', 'name')
  return {
    budget: stringAt(budget, 'metadata', 'name'),
    spend: (current, now) => spent(current, name, now),
  }
}

function isOf(budget: JsonObject, pod: JsonObject): boolean {
  const selector = valueAt(budget, 'spec', 'selector')
  return selector !== undefined && selectsLabels(selector, valueAt(pod, 'metadata', 'labels'))
}

/** Whether a budget is not spent on Pods that are not ready: they are not among those that it counts. */
function spares({ spec, status }: JsonObject): boolean {
  if (stringAt(spec, 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true
  const [healthy, desired] = [countAt(status, 'currentHealthy'), countAt(status, 'desiredHealthy')]
  return desired > 0 && healthy >= desired
}

/** The budget after the eviction of a Pod, or 429 if it permits none. */
function spent(budget: JsonObject, pod: string, now: number): JsonObject | StatusError {
  const { metadata, status } = budget
  const name = stringAt(metadata, 'name')
  const observed = countAt(status, 'observedGeneration')
  if (observed < countAt(metadata, 'generation')) {
    return exhausted(`The disruption budget ${name} is still being processed by the server.`)
  }
  const disrupted = objectAt(status, 'disruptedPods')
  if (Object.keys(disrupted).length > MAX_DISRUPTED) {
    const subject = { plural: podDisruptionBudgets.plural, group: 'policy', name }
    return forbidden(subject, 'too many evictions are not confirmed by its controller yet')
  }
  const allowed = countAt(status, 'disruptionsAllowed')
  if (allowed <= 0) {
    const [healthy, desired] = ['currentHealthy', 'desiredHealthy'].map((key) =>
      countAt(status, key),
    )
    return exhausted(
      `The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`,
    )
  }
  return {
    ...budget,
    status: {
      ...objectAt(status),
      disruptionsAllowed: allowed - 1,
      disruptedPods: { ...disrupted, [pod]: timestamp(now) },
    },
  }
}

function exhausted(message: string): StatusError {
  return new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: 'DisruptionBudget', message }],
      retryAfterSeconds: RETRY_SECONDS,
    },
  })
}

function countAt(value: Json | undefined, key: string): number {
  return Number(valueAt(value, key) ?? 0)
}

/** The Pod with the condition by which its owner knows why it is deleted. */
function announced(pod: JsonObject, now: number): JsonObject {
  const wanted = {
    type: DISRUPTION,
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  } as const
  const status = objectAt(pod, 'status')
  const condition = setCondition(readCondition(status, DISRUPTION), wanted, now)
  return { ...pod, status: withCondition(status, condition) }
}
