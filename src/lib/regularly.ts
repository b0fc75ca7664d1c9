import type { Clock } from './clock.ts'
import { isDeepEqual } from './equal.ts'

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

export interface FollowOptions<T> {
  readonly clock: Pick<Clock, 'after'>
  /** The value to start with. */
  readonly first: T
  readonly read: () => Promise<T>
  readonly onChange: (next: T) => void | Promise<void>
  /**
   * Called when reading or `onChange` failed, for example because only one of two files is renewed so far. The last
   * value stays in use, and both are repeated.
   */
  readonly onError: (error: unknown) => void
}

/** Short, because an operator who installs a new key or certificate, or removes a stolen one, waits for the effect. */
const READ_INTERVAL_MS = 10_000

/** Reads a value every ten seconds and reports it when it has changed; returns a function that stops this. */
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

/**
 * Decides when the next run may start: `minPeriodMs` after the start of the previous run, and after a pause of at
 * least half the time that run took. So the first change is written at once, and the following ones together; the loop
 * sleeps at least a third of the time, even if the kernel is slow.
 */
export class Throttle {
  readonly #clock: Pick<Clock, 'now'>
  readonly #minPeriodMs: number
  #startedAt = Number.NEGATIVE_INFINITY
  #pausedUntil = Number.NEGATIVE_INFINITY

  /** `clock` is a steady one: if it were set back, the pause would last until it has caught up. */
  constructor(clock: Pick<Clock, 'now'>, minPeriodMs: number) {
    this.#clock = clock
    this.#minPeriodMs = minPeriodMs
  }

  /** Milliseconds until the next run may start. */
  delay(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.now())
  }

  /** A run starts now. */
  started(): void {
    this.#startedAt = this.#clock.now()
  }

  /** The run that started last ends now; without this call it delays no other run. */
  ended(): void {
    const now = this.#clock.now()
    const tookMs = now - this.#startedAt
    this.#pausedUntil = now + Math.max(this.#minPeriodMs - tookMs, tookMs / 2)
  }
}
