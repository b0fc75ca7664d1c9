import {
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  NOT_COPIED,
  REVISION,
  REVISION_HISTORY,
} from '../../../resources/label-names.ts'
import type { StringMap } from '../../objects/object-meta.ts'
import type { WorkloadObject } from '../../objects/workload-object.ts'
import { limitsOf } from './rollout-limits.ts'

const MAX_HISTORY_LENGTH = 2_000

/** The revision of a ReplicaSet; 0 where it has none. */
export function revisionOf({ meta }: WorkloadObject): number {
  return Number.parseInt(meta.annotations[REVISION] ?? '', 10) || 0
}

/**
 * The annotations for the ReplicaSet of the present template: those of its Deployment, and a revision greater than those
 * of the `old` ReplicaSets. If it has a lower revision, because of a rollback to its template, that goes into the history.
 */
export function annotationsFor(
  deployment: WorkloadObject,
  old: readonly WorkloadObject[],
  known: StringMap,
): StringMap {
  const copied = Object.entries(deployment.meta.annotations).filter(
    ([key]) => !NOT_COPIED.includes(key),
  )
  const revision = 1 + Math.max(0, ...old.map(revisionOf))
  const before = known[REVISION] ?? ''
  const all = { ...known, ...Object.fromEntries(copied) }
  if ((Number.parseInt(before, 10) || 0) >= revision) return all
  return { ...all, ...historyAfter(known, before), [REVISION]: String(revision) }
}

function historyAfter(known: StringMap, before: string): StringMap {
  if (before === '') return {}
  const revisions = [
    ...(known[REVISION_HISTORY] ?? '').split(',').filter((one) => one !== ''),
    before,
  ]
  while (revisions.join(',').length > MAX_HISTORY_LENGTH) revisions.shift()
  return { [REVISION_HISTORY]: revisions.join(',') }
}

/** The annotations that record the size of the Deployment. If it is scaled during a rollout, they give the size before. */
export function sizeAnnotations(deployment: WorkloadObject): StringMap {
  return {
    [DESIRED_REPLICAS]: String(deployment.replicas),
    [MAX_REPLICAS]: String(limitsOf(deployment).maxTotal),
  }
}
