import type { Clock } from '../../../lib/clock.ts'
import type { Program } from '../../../modes/mode.ts'
import type { DeltaTracker } from '../../../sync/delta-tracker.ts'

/** What `Completion` observes. */
export interface CompletionParts {
  readonly tracker: Pick<DeltaTracker, 'isSettled' | 'failures'>
  readonly program: Pick<Program, 'ownersOf'>
  readonly clock: Clock
  /** Called once. `refused`: the number of objects that the kernel refuses; all others are in it. */
  readonly onComplete: (refused: number) => void
}

/** How long objects of Services that the kernel refuses delay the removal of the previous mode. */
const REFUSED_TIMEOUT_MS = 60_000

/**
 * Reports when a new mode has all objects in the kernel, so that the previous mode can be removed. After a
 * minute, objects of single Services may be missing, but none that all Services share.
 */
export class Completion {
  readonly #parts: CompletionParts
  #isOver = false
  #isOverdue = false
  #cancelTimer: (() => void) | undefined

  constructor(parts: CompletionParts) {
    this.#parts = parts
  }

  /** The caller reports each run of the sync loop. */
  ran(): void {
    if (this.#isOver) return
    this.#cancelTimer ??= this.#parts.clock.after(REFUSED_TIMEOUT_MS, () => {
      this.#isOverdue = true
      this.#review()
    })
    this.#review()
  }

  /** Ends the wait; `onComplete` is not called any more. */
  cancel(): void {
    this.#isOver = true
    this.#cancelTimer?.()
  }

  #review(): void {
    const { tracker, onComplete } = this.#parts
    if (this.#isOver) return
    if (!tracker.isSettled && !(this.#isOverdue && this.#holdsAllButServices())) return
    this.cancel()
    onComplete(tracker.failures().size)
  }

  #holdsAllButServices(): boolean {
    const { tracker, program } = this.#parts
    const refused = [...tracker.failures().keys()]
    return refused.length > 0 && refused.every((key) => program.ownersOf(key).length > 0)
  }
}
