import type { Clock } from '../../lib/clock.ts'
import type { ForeignChange } from '../mode.ts'

/** What reports no changes is read at this interval. */
const EVERY_MS = 1_000

/** What is looked at, when, and who learns of a change. */
export interface DriftCheckerParts {
  readonly clock: Clock
  /** Runs nothing else of the mode meanwhile. */
  exclusively(work: () => Promise<void>): Promise<void>
  /** One round; undefined: everything that was looked at is as we left it. */
  look(): Promise<ForeignChange | undefined>
  onForeignChange(change: ForeignChange): void
}

/** Looks once a second, never waits for itself, and goes on after questions without an answer. */
export class DriftChecker {
  readonly #parts: DriftCheckerParts
  #cancel: () => void = () => {}
  #stopped = false

  constructor(parts: DriftCheckerParts) {
    this.#parts = parts
    this.#schedule()
  }

  /** No round starts after this, and none that runs reports anything. */
  stop(): void {
    this.#stopped = true
    this.#cancel()
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancel = this.#parts.clock.after(EVERY_MS, () => void this.#round())
  }

  async #round(): Promise<void> {
    const parts = this.#parts
    let change: ForeignChange | undefined
    try {
      await parts.exclusively(async () => {
        if (!this.#stopped) change = await parts.look()
      })
    } catch {
      change = { keys: 'all', by: 'an unanswered question' }
    }
    if (change && !this.#stopped) parts.onForeignChange(change)
    this.#schedule()
  }
}
