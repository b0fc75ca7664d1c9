import type { Clock } from './clock.ts'

/** See `regularly`. */
export interface RegularWork {
  readonly clock: Pick<Clock, 'after'>
  /** Milliseconds from the end of one round to the start of the next, and before the first. */
  readonly everyMs: number
  /** The work; its promise ends the round. */
  readonly round: () => Promise<void>
  /** Receives the error of a failed round; the next round follows nonetheless. */
  readonly onError: (error: unknown) => void
}

/** Repeats a round of work, one round at a time, until the returned function is called. */
export function regularly({ clock, everyMs, round, onError }: RegularWork): () => void {
  let stopped = false
  let cancel = (): void => undefined
  const plan = (): void => {
    if (stopped) return
    cancel = clock.after(everyMs, () => void round().catch(onError).finally(plan))
  }
  plan()
  return () => {
    stopped = true
    cancel()
  }
}
