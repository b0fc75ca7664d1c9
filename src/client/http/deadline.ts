import type { Clock } from '../../lib/clock.ts'

/** An abort signal with a reason of its own on top of the caller's. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Whether time ran out (and not the caller who gave up). */
  expired(): boolean
  /** The time that was set last, milliseconds. */
  readonly ms: number
  /** Sets (again) the time that is left, milliseconds. */
  extend(ms: number): void
  /** Must be called: frees the timer and the listener on the caller's signal. */
  clear(): void
}

/** Aborts `ms` after now or after the last `extend`, and whenever `parent` aborts. */
export function createDeadline(clock: Clock, ms: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController()
  let expired = false
  let current = ms
  const giveUp = (): void => controller.abort()
  const expire = (): void => {
    expired = true
    controller.abort()
  }
  let cancel = clock.after(ms, expire)
  if (parent?.aborted) giveUp()
  else parent?.addEventListener('abort', giveUp, { once: true })
  return {
    signal: controller.signal,
    expired: () => expired,
    get ms() {
      return current
    },
    extend(next) {
      cancel()
      current = next
      cancel = clock.after(next, expire)
    },
    clear() {
      cancel()
      parent?.removeEventListener('abort', giveUp)
    },
  }
}
