import type { Clock } from './clock.ts'

export interface RegularWork {
  readonly clock: Pick<Clock, 'after'>
  /** From the end of one round to the beginning of the next; also before the first. */
  readonly everyMs: number
  readonly round: () => Promise<void>
  /** Receives the error of a failed round; the next round follows all the same. */
  readonly onError: (error: unknown) => void
}

/** Does something from time to time, never twice at once; the returned function ends that. */
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
