import type { Clock } from '../../lib/clock.ts'

export interface WorkQueueOptions {
  readonly clock: Clock
  /** A key became ready to be taken. */
  readonly onReady: () => void
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
}

interface Timer {
  readonly at: number
  readonly cancel: () => void
}

/**
 * Keys that are to be looked at, each once however often it is added, in the
 * order in which they came. A key that is being worked on is not given out
 * again before it is done. A key that fails comes back after `base × 2ⁿ`.
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

  /** Keys that can be taken now or as soon as they are done. */
  get depth(): number {
    return this.#ready.size + this.#again.size
  }

  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  add(key: string): void {
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    if (this.#taken.has(key)) this.#again.add(key)
    else {
      this.#ready.add(key)
      this.#options.onReady()
    }
  }

  /** Adds the key after `ms`, or when it is added otherwise, if that is sooner. */
  addAfter(key: string, ms: number): void {
    const { clock } = this.#options
    const at = clock.now() + ms
    const pending = this.#timers.get(key)
    if (pending !== undefined && pending.at <= at) return
    pending?.cancel()
    this.#timers.set(key, { at, cancel: clock.after(ms, () => this.add(key)) })
  }

  /** Adds the key again, each time later, until `forget`. */
  retry(key: string): void {
    const { backoffBaseMs, backoffMaxMs } = this.#options
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.addAfter(key, Math.min(backoffMaxMs, backoffBaseMs * 2 ** Math.min(failures, 30)))
  }

  /** The key succeeded: its next failure is its first. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  take(): string | undefined {
    const [key] = this.#ready
    if (key === undefined) return undefined
    this.#ready.delete(key)
    this.#taken.add(key)
    return key
  }

  /** What was taken is finished with, well or not. */
  done(key: string): void {
    this.#taken.delete(key)
    if (this.#again.delete(key)) this.add(key)
  }

  /** Forgets every key that waits, and how often it failed. */
  clear(): void {
    for (const { cancel } of this.#timers.values()) cancel()
    for (const set of [this.#ready, this.#again, this.#timers, this.#failures]) set.clear()
  }
}
