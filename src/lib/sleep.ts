import type { Clock } from './clock.ts'

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
