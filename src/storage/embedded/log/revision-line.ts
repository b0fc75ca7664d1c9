/** No store commits as many revisions per second: a commit takes longer than 10 µs. */
const MAX_REVISIONS_PER_SECOND = 100_000

/** The clock error that is tolerated, in milliseconds. */
const MAX_CLOCK_ERROR_MS = 3 * 3_600_000

/**
 * A point on a line that revisions never cross: a store had the newest revision `revision` at `time`, and it
 * takes fewer than MAX_REVISIONS_PER_SECOND revisions per second from then on. A backup contains the point of
 * its store, so a restore knows an upper bound of the revisions that the lost store has used since the backup.
 */
export interface RevisionPoint {
  readonly revision: number
  /** Milliseconds since the Unix epoch. */
  readonly time: number
}

/**
 * A revision above every revision that a store with this point can have used by `now` (milliseconds since the
 * Unix epoch).
 */
export function revisionBeyond(point: RevisionPoint, now: number): number {
  const elapsed = Math.max(0, now - point.time) + MAX_CLOCK_ERROR_MS
  return point.revision + Math.ceil((elapsed / 1000) * MAX_REVISIONS_PER_SECOND)
}
