import type { Clock } from './clock.ts'
import { isDeepEqual } from './equal.ts'
import { regularly } from './regularly.ts'

export interface FollowOptions<T> {
  readonly clock: Pick<Clock, 'after'>
  /** What is used at the beginning. */
  readonly first: T
  readonly read: () => Promise<T>
  readonly onChange: (next: T) => void | Promise<void>
  /** Reading or `onChange` failed, for example because only one of two files is renewed; the last value stays in use, and both are repeated. */
  readonly onError: (error: unknown) => void
}

/** An operator waits for it who takes over a new key or certificate, or takes a stolen one away. */
const READ_INTERVAL_MS = 10_000

/** Reads a value every ten seconds and reports it when it differs; returns the function that stops. */
export function follow<T>(options: FollowOptions<T>): () => void {
  const { clock, first, read, onChange, onError } = options
  let known = first
  let isOver = false
  const round = async (): Promise<void> => {
    const next = await read()
    if (isOver || isDeepEqual(next, known)) return
    await onChange(next)
    known = next
  }
  const stop = regularly({ clock, everyMs: READ_INTERVAL_MS, round, onError })
  return () => {
    isOver = true
    stop()
  }
}
