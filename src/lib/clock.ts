/** Time as a value, so that code that uses it can be tested without waiting. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /**
   * Runs `task` once after `ms` milliseconds, without an upper limit; a negative number means at once. The returned
   * function cancels it.
   */
  after(ms: number, task: () => void): () => void
}

/** The longest timer of the platform, about 25 days; a longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The machine's clock. A pending timer never keeps the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    let timer: NodeJS.Timeout
    const wait = (restMs: number): void => {
      const isLast = restMs <= MAX_TIMER_MS
      const next = isLast ? task : () => wait(restMs - MAX_TIMER_MS)
      timer = setTimeout(next, Math.max(0, Math.min(restMs, MAX_TIMER_MS)))
      timer.unref()
    }
    wait(ms)
    return () => clearTimeout(timer)
  },
}

/**
 * A clock for schedules. Its `now` counts milliseconds since the machine's start, so a step of the machine's clock, such as
 * at the first synchronisation, neither delays nor hastens anything.
 */
export const steadyClock: Clock = { ...systemClock, now: monotonicMs }

/** Milliseconds of the monotonic clock (CLOCK_MONOTONIC), which all threads and processes of the machine share. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e3 + nanoseconds / 1e6
}

/** Resolves after `ms` of `clock`, or at once when `signal` is aborted. */
export function sleep(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, () => {
    signal?.removeEventListener('abort', wake)
    resolve()
  })
  function wake(): void {
    cancel()
    resolve()
  }
  signal?.addEventListener('abort', wake, { once: true })
  return promise
}
