import type { Clock } from '../../../lib/clock.ts'
import type { Program } from '../../../modes/mode.ts'
import type { DeltaTracker } from '../../../sync/delta-tracker.ts'

export interface CompletionParts {
  readonly tracker: Pick<DeltaTracker, 'isSettled' | 'failures'>
  readonly program: Pick<Program, 'ownersOf'>
  readonly clock: Clock
  /** Called once. `refused`: objects that the kernel refuses; without them it is complete. */
  readonly onComplete: (refused: number) => void
}

/** So long Services that the kernel refuses hold back the change to another mode for all others. */
const PATIENCE_MS = 60_000

/**
 * Whether a mode that begins to work holds in the kernel what it should, so that
 * another one may leave. What all Services share must stand; single Services that
 * are refused are waited for, but not for ever.
 */
export class Completion {
  readonly #parts: CompletionParts
  #isOver = false
  #isOverdue = false
  #cancelTimer: (() => void) | undefined

  constructor(parts: CompletionParts) {
    this.#parts = parts
  }

  /** To be called after every run. */
  ran(): void {
    if (this.#isOver) return
    this.#cancelTimer ??= this.#parts.clock.after(PATIENCE_MS, () => {
      this.#isOverdue = true
      this.#review()
    })
    this.#review()
  }

  /** It is not of interest any more. */
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
