import { timestamp } from '../../../lib/duration.ts'
import { type JsonObject, stringAt } from '../../../lib/json.ts'
import type { WantedCondition } from '../../../resources/status-condition.ts'
import { countAt, type WorkloadObject } from '../../objects/workload-object.ts'
import { type Conditions, conditionsOf } from '../shared/status-difference.ts'
import type { OwnedSets } from './owned-sets.ts'
import { deadlineOf, limitsOf } from './rollout-limits.ts'
import type { Sizes } from './rollout-sizes.ts'

const PROGRESSING = 'Progressing'
const FAILURE = 'ReplicaFailure'
const COMPLETE = 'NewReplicaSetAvailable'
const TIMED_OUT = 'ProgressDeadlineExceeded'
const PAUSED = 'DeploymentPaused'
export const CREATE_ERROR = 'ReplicaSetCreateError'

/** The numbers in the status of a Deployment. */
export type Counts = Readonly<Record<(typeof COUNTS)[number], number>>

const COUNTS = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'collisionCount',
] as const

/** The counts by the status of the ReplicaSets, which have or get these sizes. */
export function countsOf(deployment: WorkloadObject, owned: OwnedSets, sizes: Sizes): Counts {
  const { current, old } = owned
  const all = current === undefined ? old : [...old, current]
  const total = (field: string): number =>
    all.reduce((sum, { status }) => sum + countAt(status, 0, field), 0)
  const available = total('availableReplicas')
  const wanted = all.reduce((sum, set) => sum + (sizes.get(set) ?? set.replicas), 0)
  return {
    observedGeneration: deployment.generation,
    replicas: total('replicas'),
    updatedReplicas: current === undefined ? 0 : countAt(current.status, 0, 'replicas'),
    readyReplicas: total('readyReplicas'),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wanted - available),
    collisionCount: collisionsOf(deployment),
  }
}

/** How often the name of a new ReplicaSet belonged to another one. */
export function collisionsOf({ status }: WorkloadObject): number {
  return countAt(status, 0, 'collisionCount')
}

/** Whether all Pods are of the present template and available, as the status says. */
export function isComplete({ replicas, generation }: WorkloadObject, counts: Counts): boolean {
  return (
    counts.updatedReplicas === replicas &&
    counts.replicas === replicas &&
    counts.availableReplicas === replicas &&
    counts.observedGeneration >= generation
  )
}

/** The counts of the status as it is stored. */
export function storedCounts({ status }: WorkloadObject): Counts {
  return Object.fromEntries(COUNTS.map((field) => [field, countAt(status, 0, field)])) as Counts
}

/** The conditions as they are stored, with what a pause or its end changes. */
export function pausedConditions(deployment: WorkloadObject, now: number): Conditions {
  const conditions = conditionsOf(deployment.status)
  const reason = stringAt(conditions.get(PROGRESSING), 'reason')
  const isPaused = deployment.spec['paused'] === true
  const isNew = isPaused !== (reason === PAUSED)
  if (deadlineOf(deployment) === undefined || reason === TIMED_OUT || !isNew) return conditions
  const wanted = isPaused
    ? { reason: PAUSED, message: 'Deployment is paused' }
    : { reason: 'DeploymentResumed', message: 'Deployment is resumed' }
  return set(conditions, { type: PROGRESSING, status: 'Unknown', ...wanted }, now)
}

/** Sets the condition `Available`: whether enough Pods are available. */
export function withAvailability(
  conditions: Conditions,
  deployment: WorkloadObject,
  { availableReplicas }: Counts,
  now: number,
): Conditions {
  const isEnough = availableReplicas >= limitsOf(deployment).minAvailable
  const wanted: WantedCondition = isEnough
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      }
  return set(conditions, wanted, now)
}

/** Sets the condition `Progressing`, if there is a progress deadline. */
export function withProgress(
  conditions: Conditions,
  deployment: WorkloadObject,
  wanted: Omit<WantedCondition, 'type'>,
  now: number,
): Conditions {
  if (deadlineOf(deployment) === undefined) return conditions
  return set(conditions, { type: PROGRESSING, ...wanted }, now)
}

/** Reports that a ReplicaSet with the present template exists, if there is no condition `Progressing` yet. */
export function withFoundSet(
  conditions: Conditions,
  deployment: WorkloadObject,
  { current }: OwnedSets,
  now: number,
): Conditions {
  if (current === undefined || conditions.has(PROGRESSING)) return conditions
  const message = `Found new replica set "${current.meta.name}"`
  const wanted = { status: 'True', reason: 'FoundNewReplicaSet', message } as const
  return withProgress(conditions, deployment, wanted, now)
}

/** Whether the rollout is complete, goes on or has made no progress for too long. */
export function withEstimate(
  conditions: Conditions,
  deployment: WorkloadObject,
  { counts, owned, now }: { counts: Counts; owned: OwnedSets; now: number },
): Conditions {
  const deadline = deadlineOf(deployment)
  if (deadline === undefined) return remove(conditions, PROGRESSING)
  const known = conditions.get(PROGRESSING)
  const reason = stringAt(known, 'reason')
  if (counts.replicas === counts.updatedReplicas && reason === COMPLETE) return conditions
  const name = owned.current?.meta.name
  const subject =
    name === undefined ? `Deployment "${deployment.meta.name}"` : `ReplicaSet "${name}"`
  const wanted = (status: 'True' | 'False', why: string, what: string): WantedCondition => ({
    type: PROGRESSING,
    status,
    reason: why,
    message: `${subject} ${what}`,
  })
  if (isComplete(deployment, counts)) {
    return set(conditions, wanted('True', COMPLETE, 'has successfully progressed.'), now)
  }
  if (hasProgressed(storedCounts(deployment), counts)) {
    const next = wanted('True', 'ReplicaSetUpdated', 'is progressing.')
    return new Map([...conditions, [PROGRESSING, stamped(known, next, now)]])
  }
  const isLate = known !== undefined && reason !== COMPLETE && updatedAt(known) + deadline < now
  return reason === TIMED_OUT || isLate
    ? set(conditions, wanted('False', TIMED_OUT, 'has timed out progressing.'), now)
    : conditions
}

function hasProgressed(before: Counts, after: Counts): boolean {
  const oldOnes = (counts: Counts): number => counts.replicas - counts.updatedReplicas
  return (
    after.updatedReplicas > before.updatedReplicas ||
    oldOnes(after) < oldOnes(before) ||
    after.readyReplicas > before.readyReplicas ||
    after.availableReplicas > before.availableReplicas
  )
}

/**
 * Milliseconds until the progress deadline, plus one second, because `lastUpdateTime` has no fractions of a second.
 * Undefined: there is no deadline, it has passed, or the rollout is complete.
 */
export function untilLate(
  conditions: Conditions,
  deployment: WorkloadObject,
  counts: Counts,
  now: number,
): number | undefined {
  const deadline = deadlineOf(deployment)
  const known = conditions.get(PROGRESSING)
  const isOver = [COMPLETE, TIMED_OUT].includes(stringAt(known, 'reason'))
  if (deadline === undefined || known === undefined || isOver) return undefined
  if (isComplete(deployment, counts)) return undefined
  return Math.max(1, updatedAt(known) + deadline - now + 1_000)
}

/** Copies the condition `ReplicaFailure` of the first ReplicaSet that has it; that of the present template comes first. */
export function withFailures(conditions: Conditions, { current, old }: OwnedSets): Conditions {
  const all = current === undefined ? old : [current, ...old]
  const found = all.map(({ status }) => conditionsOf(status).get(FAILURE)).find(Boolean)
  if (found === undefined) return remove(conditions, FAILURE)
  const known = conditions.get(FAILURE)
  const isSame = ['status', 'reason'].every((key) => stringAt(known, key) === stringAt(found, key))
  if (known !== undefined && isSame) return conditions
  const lastUpdateTime = stringAt(found, 'lastTransitionTime')
  return new Map([...conditions, [FAILURE, { ...found, lastUpdateTime }]])
}

/** A condition with the same status and reason stays as it is, whatever its message. */
function set(conditions: Conditions, wanted: WantedCondition, now: number): Conditions {
  const known = conditions.get(wanted.type)
  const isSame =
    stringAt(known, 'status') === wanted.status && stringAt(known, 'reason') === wanted.reason
  return isSame ? conditions : new Map([...conditions, [wanted.type, stamped(known, wanted, now)]])
}

function stamped(known: JsonObject | undefined, wanted: WantedCondition, now: number): JsonObject {
  const isSameStatus = stringAt(known, 'status') === wanted.status
  const since = isSameStatus ? stringAt(known, 'lastTransitionTime') : ''
  const lastTransitionTime = since || timestamp(now)
  return { ...wanted, lastUpdateTime: timestamp(now), lastTransitionTime }
}

function remove(conditions: Conditions, type: string): Conditions {
  return new Map([...conditions].filter(([one]) => one !== type))
}

function updatedAt(condition: JsonObject): number {
  return Date.parse(stringAt(condition, 'lastUpdateTime')) || 0
}
