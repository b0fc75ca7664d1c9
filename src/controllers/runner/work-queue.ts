import type { Clock } from '../../lib/clock.ts'

/** See `WorkQueue`; times in milliseconds. */
export interface WorkQueueOptions {
  readonly clock: Clock
  /** Called when a key can be taken. */
  readonly onReady: () => void
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
}

interface Timer {
  readonly at: number
  readonly cancel: () => void
}

/**
 * Keys to reconcile, in the order in which they were added, each once however often it was added. A key that
 * was taken is not returned again before it is done. A key that failed n times comes back after `base × 2ⁿ`.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #ready = new Set<string>()
  readonly #taken = new Set<string>()
  /** Added while taken. */
  readonly #again = new Set<string>()
  readonly #timers = new Map<string, Timer>()
  readonly #failures = new Map<string, number>()

  constructor(options: WorkQueueOptions) {
    this.#options = options
  }

  /** The number of keys that can be taken now, or when they are done. */
  get depth(): number {
    return this.#ready.size + this.#again.size
  }

  /** Whether `take` would return a key. */
  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  /** Adds a key now, also if it waits for a timer. */
  add(key: string): void {
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    if (this.#taken.has(key)) this.#again.add(key)
    else {
      this.#ready.add(key)
      this.#options.onReady()
    }
  }

  /** Adds the key after `ms`, unless another call adds it sooner. */
  addAfter(key: string, ms: number): void {
    const { clock } = this.#options
    const at = clock.now() + ms
    const pending = this.#timers.get(key)
    if (pending !== undefined && pending.at <= at) return
    pending?.cancel()
    this.#timers.set(key, { at, cancel: clock.after(ms, () => this.add(key)) })
  }

  /** Adds a key that failed, after a delay that doubles with each call until `forget`. */
  retry(key: string): void {
    const { backoffBaseMs, backoffMaxMs } = this.#options
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.addAfter(key, Math.min(backoffMaxMs, backoffBaseMs * 2 ** Math.min(failures, 30)))
  }

  /** The key succeeded: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Removes the oldest key and returns it; undefined: none is ready. */
  take(): string | undefined {
    const [key] = this.#ready
    if (key === undefined) return undefined
    this.#ready.delete(key)
    this.#taken.add(key)
    return key
  }

  /** A key that was taken has been reconciled, with success or without. */
  done(key: string): void {
    this.#taken.delete(key)
    if (this.#again.delete(key)) this.add(key)
  }

  /** Removes every key that waits, and the counts of failures. */
  clear(): void {
    for (const { cancel } of this.#timers.values()) cancel()
    for (const set of [this.#ready, this.#again, this.#timers, this.#failures]) set.clear()
  }
}
