/** The error of a request that was aborted because its answer took too long. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/** Runs a task with a time limit. Throws LateError after the limit, and otherwise what the task throws. */
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
