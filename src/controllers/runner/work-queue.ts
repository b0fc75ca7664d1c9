import type { Clock } from '../../lib/clock.ts'

/** See `WorkQueue`; times in milliseconds. */
interface WorkQueueOptions {
  readonly clock: Clock
  /** Called when a key can be taken. */
  readonly onReady: () => void
  /** Keys of the greatest number are taken first. */
  readonly priorityOf?: (key: string) => number
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
}

interface Timer {
  readonly at: number
  readonly cancel: () => void
}

/**
 * Keys to reconcile: by priority, then in the order in which they were added. A key that is added several times is returned
 * once. A key that was taken is not returned again before `done` is called for it. After n failures in succession, a key is added again after
 * `backoffBaseMs × 2ⁿ⁻¹`, at most `backoffMaxMs`.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #ready = new Set<string>()
  /** The keys that are ready, by the priority that they had when they were added. */
  readonly #byPriority = new Map<number, Set<string>>()
  readonly #taken = new Set<string>()
  /** Keys that were added while they were taken. */
  readonly #again = new Set<string>()
  readonly #timers = new Map<string, Timer>()
  readonly #failures = new Map<string, number>()

  constructor(options: WorkQueueOptions) {
    this.#options = options
  }

  /** The number of keys that can be taken now, or as soon as `done` is called for them. */
  get depth(): number {
    return this.#ready.size + this.#again.size
  }

  /** Whether `take` would return a key. */
  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  /** Adds a key now, even if it waits for a timer. */
  add(key: string): void {
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    if (this.#taken.has(key)) this.#again.add(key)
    else {
      this.#rank(key)
      this.#options.onReady()
    }
  }

  #rank(key: string): void {
    if (this.#ready.has(key)) return
    const priority = this.#options.priorityOf?.(key) ?? 0
    this.#ready.add(key)
    this.#byPriority.getOrInsertComputed(priority, () => new Set<string>()).add(key)
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

  /** Forgets the failures of a key that succeeded: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Removes the oldest key of the greatest priority and returns it; undefined if none is ready. */
  take(): string | undefined {
    if (this.#ready.size === 0) return undefined
    const greatest = Math.max(...this.#byPriority.keys())
    const keys = this.#byPriority.get(greatest) ?? new Set()
    const [key] = keys
    if (key === undefined) return undefined
    keys.delete(key)
    if (keys.size === 0) this.#byPriority.delete(greatest)
    this.#ready.delete(key)
    this.#taken.add(key)
    return key
  }

  /** Reports that a key that was taken has been reconciled, successfully or not. */
  done(key: string): void {
    this.#taken.delete(key)
    if (this.#again.delete(key)) this.add(key)
  }

  /** Removes every key that waits, and the counts of failures. */
  clear(): void {
    for (const { cancel } of this.#timers.values()) cancel()
    const kept = [this.#ready, this.#byPriority, this.#again, this.#timers, this.#failures]
    for (const one of kept) one.clear()
  }
}
