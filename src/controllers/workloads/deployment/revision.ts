import { LAST_APPLIED } from '../../../resources/label-names.ts'
import type { StringMap } from '../../objects/object-meta.ts'
import type { WorkloadObject } from '../../objects/workload-object.ts'
import { limitsOf } from './rollout-limits.ts'

/** Annotations of a Deployment and its ReplicaSets: the revision, and those that a ReplicaSet had before. */
export const REVISION = 'deployment.kubernetes.io/revision'
const HISTORY = 'deployment.kubernetes.io/revision-history'
/** Annotations of a ReplicaSet: the replicas of its Deployment when it was scaled last, and these with the surge. */
export const DESIRED = 'deployment.kubernetes.io/desired-replicas'
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas'

const NOT_COPIED = new Set([
  LAST_APPLIED,
  REVISION,
  HISTORY,
  DESIRED,
  MAX_REPLICAS,
  'deprecated.deployment.rollback.to',
])
const MAX_HISTORY_LENGTH = 2_000

/** The revision of a ReplicaSet; 0 where it has none. */
export function revisionOf({ meta }: WorkloadObject): number {
  return Number.parseInt(meta.annotations[REVISION] ?? '', 10) || 0
}

/**
 * The annotations that the ReplicaSet of the present template gets: those of its Deployment, and a revision above those
 * of the `old` ones. Where it had a lower one, because its template was rolled back to, the history keeps that.
 */
export function annotationsFor(
  deployment: WorkloadObject,
  old: readonly WorkloadObject[],
  known: StringMap,
): StringMap {
  const copied = Object.entries(deployment.meta.annotations).filter(([key]) => !NOT_COPIED.has(key))
  const revision = 1 + Math.max(0, ...old.map(revisionOf))
  const before = known[REVISION] ?? ''
  const all = { ...known, ...Object.fromEntries(copied) }
  if ((Number.parseInt(before, 10) || 0) >= revision) return all
  return { ...all, ...historyAfter(known, before), [REVISION]: String(revision) }
}

function historyAfter(known: StringMap, before: string): StringMap {
  if (before === '') return {}
  const revisions = [...(known[HISTORY] ?? '').split(',').filter((one) => one !== ''), before]
  while (revisions.join(',').length > MAX_HISTORY_LENGTH) revisions.shift()
  return { [HISTORY]: revisions.join(',') }
}

/** The annotations by which the next scaling in the middle of a rollout knows the size of the Deployment at this one. */
export function sizeAnnotations(deployment: WorkloadObject): StringMap {
  return {
    [DESIRED]: String(deployment.replicas),
    [MAX_REPLICAS]: String(limitsOf(deployment).maxTotal),
  }
}
