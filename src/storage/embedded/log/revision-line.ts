/** No store commits as many revisions per second: a commit takes longer than 10 µs. */
const MAX_REVISIONS_PER_SECOND = 100_000

/** By how much clocks may be wrong: milliseconds. */
const MAX_CLOCK_ERROR_MS = 3 * 3_600_000

/**
 * A point on a line that revisions never cross: the newest revision of a store that was at
 * `revision` at `time` rises more slowly than MAX_REVISIONS_PER_SECOND. A backup has the
 * point of its store, so a restore knows an upper bound of the revisions that the lost store
 * has used since.
 */
export interface RevisionPoint {
  readonly revision: number
  /** Milliseconds since the Unix epoch. */
  readonly time: number
}

/** A revision above all that any store with this point can have used by `now` (milliseconds since the Unix epoch). */
export function revisionBeyond(point: RevisionPoint, now: number): number {
  const elapsed = Math.max(0, now - point.time) + MAX_CLOCK_ERROR_MS
  return point.revision + Math.ceil((elapsed / 1000) * MAX_REVISIONS_PER_SECOND)
}
