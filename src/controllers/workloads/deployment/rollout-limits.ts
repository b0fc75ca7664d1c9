import { objectAt, stringAt, valueAt } from '../../../lib/json.ts'
import { countAt, type WorkloadObject } from '../../objects/workload-object.ts'
import { scaledValue } from '../shared/scaled-value.ts'

/** How a Deployment replaces Pods, and within which limits. */
export interface RolloutLimits {
  readonly isRecreate: boolean
  /** How many Pods there may be. */
  readonly maxTotal: number
  /** How many Pods have to be available. */
  readonly minAvailable: number
}

/**
 * The limits of a Deployment: `maxSurge` as a share is rounded up and `maxUnavailable` down. Where both are 0, one Pod
 * may be unavailable, because no Pod could ever be replaced otherwise.
 */
export function limitsOf({ spec, replicas }: WorkloadObject): RolloutLimits {
  const strategy = objectAt(spec, 'strategy')
  const isRecreate = stringAt(strategy, 'type') === 'Recreate'
  if (isRecreate) return { isRecreate, maxTotal: replicas, minAvailable: replicas }
  const surge = scaledValue(valueAt(strategy, 'rollingUpdate', 'maxSurge'), replicas, 'up')
  const given = scaledValue(valueAt(strategy, 'rollingUpdate', 'maxUnavailable'), replicas, 'down')
  const unavailable = surge === 0 && given === 0 ? 1 : given
  return {
    isRecreate,
    maxTotal: replicas + surge,
    minAvailable: Math.max(0, replicas - unavailable),
  }
}

const UNLIMITED = 2 ** 31 - 1

/** `progressDeadlineSeconds` in milliseconds; undefined: there is no deadline. */
export function deadlineOf({ spec }: WorkloadObject): number | undefined {
  const seconds = countAt(spec, UNLIMITED, 'progressDeadlineSeconds')
  return seconds === UNLIMITED ? undefined : 1000 * seconds
}

/** How many old ReplicaSets are kept; infinite: all. */
export function historyLimitOf({ spec }: WorkloadObject): number {
  const limit = countAt(spec, UNLIMITED, 'revisionHistoryLimit')
  return limit === UNLIMITED ? Number.POSITIVE_INFINITY : limit
}
