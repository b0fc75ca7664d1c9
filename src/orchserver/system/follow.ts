import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { regularly } from '../../lib/regularly.ts'

export interface FollowOptions<T> {
  readonly clock: Pick<Clock, 'after'>
  /** What is used at the beginning. */
  readonly first: T
  readonly read: () => Promise<T>
  /** Default: ten minutes. */
  readonly everyMs?: number
  readonly onChange: (next: T) => void | Promise<void>
  /** Reading or `onChange` failed, for example because only one of two files is renewed; the last value stays in use, and both are repeated. */
  readonly onError: (error: unknown) => void
}

/**
 * Short, although certificates last for months: a clock that was wrong at the
 * start may jump, and an operator may replace a certificate that was stolen.
 */
const READ_INTERVAL_MS = 600_000

/** Reads a value again and again and reports it when it differs; returns the function that stops. */
export function follow<T>(options: FollowOptions<T>): () => void {
  const { clock, first, read, everyMs = READ_INTERVAL_MS, onChange, onError } = options
  let known = first
  let isOver = false
  const round = async (): Promise<void> => {
    const next = await read()
    if (isOver || isDeepEqual(next, known)) return
    await onChange(next)
    known = next
  }
  const stop = regularly({ clock, everyMs, round, onError })
  return () => {
    isOver = true
    stop()
  }
}
