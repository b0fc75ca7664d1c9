import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { regularly } from '../../lib/regularly.ts'

export interface FollowOptions<T> {
  readonly clock: Pick<Clock, 'after'>
  /** What is used at the beginning. */
  readonly first: T
  readonly read: () => Promise<T>
  readonly onChange: (next: T) => void | Promise<void>
  /** It failed, perhaps because only half is renewed; what was before stays, and it is tried again. */
  readonly onError: (error: unknown) => void
}

/**
 * Short, although certificates last for months: a clock that was wrong at the
 * start may jump, and somebody may replace a certificate that was stolen.
 */
const LOOK_EVERY_MS = 600_000

/** Looks from time to time whether certificates are others than before; returns the end of it. */
export function follow<T>({ clock, first, read, onChange, onError }: FollowOptions<T>): () => void {
  let known = first
  let isOver = false
  const round = async (): Promise<void> => {
    const next = await read()
    if (isOver || isDeepStrictEqual(next, known)) return
    await onChange(next)
    known = next
  }
  const stop = regularly({ clock, everyMs: LOOK_EVERY_MS, round, onError })
  return () => {
    isOver = true
    stop()
  }
}
