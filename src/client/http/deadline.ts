import type { Clock } from '../../lib/clock.ts'

/** An abort signal that is aborted by a timer or by the caller. */
export interface Deadline {
  /** Aborted when the time is over, or the caller aborts. */
  readonly signal: AbortSignal
  /** Whether the time is over; false when the caller aborted. */
  expired(): boolean
  /** The duration that was set last, in milliseconds. */
  readonly ms: number
  /** Restarts the timer with another duration. */
  extend(ms: number): void
  /** Must be called: frees the timer and the listener on the caller's signal. */
  clear(): void
}

/** Aborts `ms` milliseconds after now, or after the last `extend`, and whenever `parent` aborts. */
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
