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

/** A request that was given up, because its answer took too long. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/** Runs a task whose signal ends it after so many milliseconds. Throws LateError then, else what the task throws. */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), ms)
  try {
    return await task(AbortSignal.any([signal, late.signal]))
  } catch (error) {
    if (signal.aborted || !late.signal.aborted) throw error
    throw new LateError(`no answer within ${ms / 1_000} s`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** Does something for each item, for so many at once. `task` must not throw. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  const work = async (): Promise<void> => {
    for (const item of rest) await task(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
}
