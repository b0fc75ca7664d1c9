/** Revisions per second that no store reaches: a commit takes longer than 10 µs. */
const FASTEST = 100_000

/** What clocks may be wrong by, in milliseconds. */
const CLOCK_ERROR = 3 * 3_600_000

/**
 * A point on a line that revisions never cross: a store that stood at
 * `revision` at `time` grows more slowly than FASTEST. A backup carries its
 * store's point, so it knows what that store can have reached by now, although
 * no other server has it.
 */
export interface RevisionPoint {
  readonly revision: number
  /** Milliseconds since the Unix epoch. */
  readonly time: number
}

/** A revision above all that any store with this point can have given out by `now`. */
export function beyond(point: RevisionPoint, now: number): number {
  const elapsed = Math.max(0, now - point.time) + CLOCK_ERROR
  return point.revision + Math.ceil((elapsed / 1000) * FASTEST)
}
