/** How often something is repeated. */
export interface Repetition {
  /** The least number of milliseconds from the end of one run to the start of the next. */
  readonly everyMs: number
  /** The least pause as a multiple of the duration of the last run, so that expensive work is done rarely. */
  readonly restFactor?: number
}

/** Whether the page is visible: the part of `document` that tests can replace. */
export interface Visibility {
  readonly hidden: boolean
  addEventListener(type: 'visibilitychange', listener: () => void): void
  removeEventListener(type: 'visibilitychange', listener: () => void): void
}

/** Repeats `run` until the signal, but not while the page is hidden. `run` must not throw. */
export async function repeat(
  run: () => Promise<void>,
  timing: () => Repetition,
  visibility: Visibility,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await seen(visibility, signal)
    if (signal.aborted) return
    const began = performance.now()
    await run()
    const { everyMs, restFactor = 0 } = timing()
    await pause(Math.max(everyMs, (performance.now() - began) * restFactor), signal)
  }
}

/** Resolves when the page is visible, or when the signal is aborted. */
export function seen(visibility: Visibility, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (visibility.hidden && !signal.aborted) return
      visibility.removeEventListener('visibilitychange', look)
      signal.removeEventListener('abort', look)
      resolve()
    }
    visibility.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look)
    look()
  })
}

/** Resolves after `ms` milliseconds, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
