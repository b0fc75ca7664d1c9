import { timestamp } from '../../../lib/duration.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import { type Json, type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import {
  conditionMatches,
  readCondition,
  setCondition,
  type WantedCondition,
} from '../../../resources/status-condition.ts'
import type { PodObject } from '../../objects/pod-object.ts'
import { countAt, type WorkloadObject } from '../../objects/workload-object.ts'
import { type Conditions, conditionsOf, statusDifference } from '../shared/status-difference.ts'
import { completionsOf, isIndexed, isTracked, type Tally, textOf } from './job-tally.ts'

const FIRST_PAUSE_MS = 10_000
const MAX_PAUSE_MS = 360_000

/** A Job, its Pods, and their counts. */
export interface JobState {
  readonly job: WorkloadObject
  /** All that it controls. */
  readonly pods: readonly PodObject[]
  readonly tally: Tally
  readonly now: number
}

/** The condition of a Job that has ended; undefined: it has not. */
export function endOf({ status }: WorkloadObject): JsonObject | undefined {
  const isEnd = (one: JsonObject): boolean =>
    ['Complete', 'Failed'].includes(stringAt(one, 'type')) && stringAt(one, 'status') === 'True'
  return [...conditionsOf(status).values()].find(isEnd)
}

/** Whether no Pods are wanted for now. */
export function isSuspended({ spec }: WorkloadObject): boolean {
  return spec['suspend'] === true
}

/**
 * How a Job ends; undefined: it continues. Some of its Pods may still run. A decision that the status already has does
 * not change.
 */
export function verdictOf(state: JobState): WantedCondition | undefined {
  const { job, tally } = state
  const target = readCondition(job.status, 'FailureTarget')
  if (target.status === 'True') return failure(target.reason, target.message)
  if (readCondition(job.status, 'SuccessCriteriaMet').status === 'True') return SUCCESS
  const completions = completionsOf(job)
  if (completions !== undefined && tally.total.succeeded >= completions) return SUCCESS
  if (isPastLimit(state)) {
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  }
  if (untilDeadline(state) === 0) {
    return failure('DeadlineExceeded', 'Job was active longer than specified deadline')
  }
  const isOver = tally.total.succeeded > 0 && tally.unfinished.length === 0
  return completions === undefined && isOver ? SUCCESS : undefined
}

const SUCCESS: WantedCondition = {
  type: 'Complete',
  status: 'True',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
}

function failure(reason: string, message: string): WantedCondition {
  return { type: 'Failed', status: 'True', reason, message }
}

/** Whether too many Pods have failed; with OnFailure, whether containers or init containers were started again too often. */
function isPastLimit({ job, tally }: JobState): boolean {
  const limit = countAt(job.spec, 6, 'backoffLimit')
  if (tally.total.failed > limit) return true
  if (stringAt(job.template, 'spec', 'restartPolicy') !== 'OnFailure') return false
  const restarts = tally.unfinished.reduce((sum, pod) => sum + pod.allRestarts, 0)
  return restarts > 0 && restarts >= limit
}

/** Milliseconds until `activeDeadlineSeconds` have passed; infinite: the Job has no deadline, or does not run. */
export function untilDeadline({ job, now }: JobState): number {
  const seconds = countAt(job.spec, -1, 'activeDeadlineSeconds')
  const startedAt = Date.parse(stringAt(job.status, 'startTime'))
  if (seconds < 0 || Number.isNaN(startedAt) || isSuspended(job)) return Number.POSITIVE_INFINITY
  return Math.max(0, startedAt + 1000 * seconds - now)
}

/**
 * After how many milliseconds Pods that failed may be replaced: 10 s after the last one ended, 20 s, 40 s, … at most six
 * minutes when more have failed since the last one succeeded. Those that are being deleted do not count.
 */
export function untilRetry({ pods, now }: JobState): number {
  const endsOf = (phase: string): readonly number[] =>
    pods
      .filter((pod) => pod.phase === phase && !pod.meta.terminating)
      .map(({ endedAt, meta }) => Date.parse(endedAt || meta.createdAt) || 0)
  const succeededAt = Math.max(...endsOf('Succeeded'))
  const failures = endsOf('Failed').filter((endedAt) => endedAt > succeededAt)
  if (failures.length === 0) return 0
  const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures.length - 1, 30))
  return Math.max(0, Math.min(pause, Math.max(...failures) + pause - now))
}

/**
 * The conditions of a Job. The verdict first becomes FailureTarget or SuccessCriteriaMet. It becomes Failed or Complete
 * when every Pod has ended and has been counted.
 */
export function jobConditions(state: JobState): Conditions {
  const { job, pods, now } = state
  const verdict = verdictOf(state)
  const known = conditionsOf(job.status)
  const isOver = pods.every((pod) => pod.finished && !isTracked(pod))
  const set: WantedCondition[] = []
  if (verdict === undefined && (isSuspended(job) || known.has('Suspended'))) {
    set.push(isSuspended(job) ? SUSPENDED : RESUMED)
  }
  const interim = verdict?.type === 'Failed' ? 'FailureTarget' : 'SuccessCriteriaMet'
  if (verdict !== undefined) set.push({ ...verdict, type: interim })
  if (verdict !== undefined && isOver) set.push(verdict)
  const made = set
    .map((wanted) => ({ wanted, before: readCondition(job.status, wanted.type) }))
    .filter(({ wanted, before }) => !conditionMatches(before, wanted))
    .map(({ wanted, before }) => [wanted.type, setCondition(before, wanted, now)] as const)
  return new Map([...known, ...made])
}

const SUSPENDED: WantedCondition = {
  type: 'Suspended',
  status: 'True',
  reason: 'JobSuspended',
  message: 'Job suspended',
}
const RESUMED: WantedCondition = {
  type: 'Suspended',
  status: 'False',
  reason: 'JobResumed',
  message: 'Job resumed',
}

/** The patch that gives the status these conditions, and the present counts. */
export function jobStatus({ job, pods, tally, now }: JobState, conditions: Conditions): JsonObject {
  const active = tally.unfinished.filter(({ meta }) => !meta.terminating)
  const counts = {
    active: active.length,
    ready: active.filter(({ ready }) => ready).length,
    terminating: pods.filter(({ meta, finished }) => meta.terminating && !finished).length,
    ...tally.counted,
  }
  const completed = stringAt(conditions.get('Complete'), 'lastTransitionTime')
  const isRunning = !isSuspended(job) || completed !== ''
  const texts: Readonly<Record<string, string>> = {
    startTime: isRunning ? stringAt(job.status, 'startTime') || timestamp(now) : '',
    completionTime: completed,
    completedIndexes: isIndexed(job) ? textOf(tally.completed) : '',
  }
  const others: [string, Json][] = Object.entries(texts)
    .filter(([field, text]) => stringAt(job.status, field) !== text)
    .map(([field, text]) => [field, text || null])
  const uncounted = Object.entries(tally.uncounted)
    .filter(
      ([field, uids]) =>
        !isDeepEqual(objectAt(job.status, 'uncountedTerminatedPods')[field] ?? [], uids),
    )
    .map(([field, uids]): [string, Json] => [field, uids.length === 0 ? null : [...uids]])
  return {
    ...statusDifference(job.status, counts, conditions, ['ready', 'terminating']),
    ...Object.fromEntries(others),
    ...(uncounted.length > 0 && { uncountedTerminatedPods: Object.fromEntries(uncounted) }),
  }
}
