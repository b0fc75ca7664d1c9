import type { Clock } from '../../lib/clock.ts'
import type { ForeignChange } from '../mode.ts'

/** The interval at which objects are read whose changes the kernel does not report. */
const EVERY_MS = 1_000

/** What is checked, when, and who is notified of a change. */
export interface DriftCheckerParts {
  readonly clock: Clock
  /** Runs nothing else of the mode meanwhile. */
  exclusively(work: () => Promise<void>): Promise<void>
  /** One round; undefined if everything that was checked is as we left it. */
  look(): Promise<ForeignChange | undefined>
  onForeignChange(change: ForeignChange): void
}

/** Checks once a second, never runs two rounds at once, and goes on after a request that got no answer. */
export class DriftChecker {
  readonly #parts: DriftCheckerParts
  #cancel: () => void = () => {}
  #stopped = false

  constructor(parts: DriftCheckerParts) {
    this.#parts = parts
    this.#schedule()
  }

  /** After this call no round starts, and a running round reports nothing. */
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
      change = { keys: 'all', by: 'an unknown program: the check got no answer' }
    }
    if (change && !this.#stopped) parts.onForeignChange(change)
    this.#schedule()
  }
}
