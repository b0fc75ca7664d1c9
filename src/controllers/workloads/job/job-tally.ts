import { stringAt, stringsAt } from '../../../lib/json.ts'
import type { PodObject } from '../../objects/pod-object.ts'
import { countAt, type WorkloadObject } from '../../objects/workload-object.ts'

/**
 * Finalizer of a Pod whose end its Job has not counted. It keeps a deleted Pod until its end is counted. Each end is counted
 * exactly once. First the uid is stored in `uncountedTerminatedPods`. Then the Pod loses the finalizer. Then one write
 * removes the uid and increases the count.
 */
export const TRACKING = 'batch.kubernetes.io/job-tracking'
/** Annotation and label of a Pod: its index, for which one Pod has to succeed. */
export const POD_INDEX = 'batch.kubernetes.io/job-completion-index'

/** Uids that a status may hold, as in Kubernetes. */
const MAX_UNCOUNTED = 500

type PodOutcome = 'succeeded' | 'failed'
type PerOutcome<T> = Readonly<Record<PodOutcome, T>>

/** How many Pods of a Job have ended, and how. */
export interface Tally {
  /** Pods that have not ended. */
  readonly unfinished: readonly PodObject[]
  /** All that have ended; of a Job with indexes, `succeeded` is the number of indexes of which one Pod succeeded. */
  readonly total: PerOutcome<number>
  /** The numbers for the status. */
  readonly counted: PerOutcome<number>
  /** The uids for `uncountedTerminatedPods`: Pods that have ended, and are not in `counted` yet. */
  readonly uncounted: PerOutcome<readonly string[]>
  /** Indexes of which one Pod succeeded; none for a Job without indexes. */
  readonly completed: Ranges
  /** Pods that may lose the finalizer once the status with these values is stored. */
  readonly released: readonly PodObject[]
}

/** Counts the Pods of a Job; those that are gone are counted in its status. */
export function tallyOf(job: WorkloadObject, pods: readonly PodObject[]): Tally {
  const tracked = pods.filter(isTracked)
  const held = new Set(tracked.map(({ meta }) => meta.uid))
  const stored = perOutcome((one) => stringsAt(job.status, 'uncountedTerminatedPods', one))
  const known = new Set([...stored.succeeded, ...stored.failed])
  const ended = tracked.filter((pod) => !known.has(pod.meta.uid) && outcomeOf(job, pod) !== '')
  const isCounted = (pod: PodObject): boolean => !isIndexed(job) || indexOf(job, pod) !== undefined
  const fresh = ended.filter(isCounted).slice(0, Math.max(0, MAX_UNCOUNTED - known.size))
  const freshOf = (one: PodOutcome) => fresh.filter((pod) => outcomeOf(job, pod) === one)
  const completed = completedIndexes(job, freshOf('succeeded'))
  const uncounted = perOutcome((one) => [
    ...stored[one].filter((uid) => held.has(uid)),
    ...freshOf(one).map(({ meta }) => meta.uid),
  ])
  const isByIndex = (one: PodOutcome): boolean => one === 'succeeded' && isIndexed(job)
  const counted = perOutcome((one) => {
    const gone = stored[one].filter((uid) => !held.has(uid)).length
    return isByIndex(one) ? sizeOf(completed) : countAt(job.status, 0, one) + gone
  })
  const listed = new Set([...uncounted.succeeded, ...uncounted.failed])
  return {
    unfinished: pods.filter((pod) => outcomeOf(job, pod) === ''),
    total: perOutcome((one) => counted[one] + (isByIndex(one) ? 0 : uncounted[one].length)),
    counted,
    uncounted,
    completed,
    released: [
      ...tracked.filter(({ meta }) => listed.has(meta.uid)),
      ...ended.filter((pod) => !isCounted(pod)),
    ],
  }
}

function perOutcome<T>(make: (outcome: PodOutcome) => T): PerOutcome<T> {
  return { succeeded: make('succeeded'), failed: make('failed') }
}

/** Whether a Pod has the finalizer of Pods that are not counted. */
export function isTracked({ meta }: PodObject): boolean {
  return meta.finalizers.includes(TRACKING)
}

/**
 * How a Pod ended; empty: it has not. One that is being deleted has failed: at once, or with `podReplacementPolicy: Failed`
 * when its containers have ended, after which only the finalizer keeps it.
 */
function outcomeOf(
  { spec }: WorkloadObject,
  { phase, meta, nodeName, graceSeconds }: PodObject,
): PodOutcome | '' {
  if (phase === 'Succeeded') return 'succeeded'
  if (phase === 'Failed') return 'failed'
  const isAwaited = stringAt(spec, 'podReplacementPolicy') === 'Failed'
  const isRunning = isAwaited && nodeName !== '' && graceSeconds > 0
  return meta.terminating && !isRunning ? 'failed' : ''
}

/** Whether the Pods of a Job have indexes. */
export function isIndexed({ spec }: WorkloadObject): boolean {
  return stringAt(spec, 'completionMode') === 'Indexed'
}

/** `spec.completions`; undefined: one Pod that succeeds is enough. */
export function completionsOf({ spec }: WorkloadObject): number | undefined {
  const completions = countAt(spec, -1, 'completions')
  return completions < 0 ? undefined : completions
}

/** The index of a Pod; undefined: it has none, or one that its Job does not have. */
export function indexOf(job: WorkloadObject, { meta }: PodObject): number | undefined {
  const text = meta.annotations[POD_INDEX] ?? ''
  const index = /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  return index < (completionsOf(job) ?? 0) ? index : undefined
}

/** Ranges of indexes, in ascending order. Between two ranges at least one index is missing. */
export type Ranges = readonly (readonly [first: number, last: number])[]

/** The indexes that the status shows, and those of more Pods that succeeded. */
function completedIndexes(job: WorkloadObject, succeeded: readonly PodObject[]): Ranges {
  if (!isIndexed(job)) return []
  const last = (completionsOf(job) ?? 0) - 1
  const stored = stringAt(job.status, 'completedIndexes').split(',')
  const known = stored.flatMap((text): Ranges => {
    const [, from = '', to = from] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? []
    return from === '' || Number(from) > last ? [] : [[Number(from), Math.min(Number(to), last)]]
  })
  return joined([...known, ...succeeded.map((pod) => pointOf(indexOf(job, pod) ?? 0))])
}

function pointOf(index: number): readonly [number, number] {
  return [index, index]
}

function joined(ranges: Ranges): Ranges {
  const all: [number, number][] = []
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = all.at(-1)
    if (before === undefined || first > before[1] + 1) all.push([first, last])
    else before[1] = Math.max(before[1], last)
  }
  return all
}

function sizeOf(ranges: Ranges): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/** `1,3-5,7`; two neighbours are `1,2`. */
export function textOf(ranges: Ranges): string {
  return ranges
    .map(([first, last]) => {
      if (first === last) return String(first)
      return `${first}${last === first + 1 ? ',' : '-'}${last}`
    })
    .join(',')
}

/** Whether an index still needs a Pod. */
export function isOpen({ completed }: Tally, index: number): boolean {
  return index >= 0 && !completed.some(([first, last]) => first <= index && index <= last)
}

/** The least indexes below `limit` that are not completed and that no Pod has, at most `count`. */
export function freeIndexes(
  { completed }: Tally,
  used: Iterable<number>,
  limit: number,
  count: number,
): readonly number[] {
  const free: number[] = []
  const taken = joined([...completed, ...[...used].map(pointOf), [limit, limit]])
  let next = 0
  for (const [first, last] of taken) {
    while (next < first && free.length < count) free.push(next++)
    next = last + 1
  }
  return free
}
