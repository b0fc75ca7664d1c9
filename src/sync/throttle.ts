import type { Clock } from '../lib/clock.ts'

/**
 * Decides when the next run may start: the first change at once, the following
 * ones together, `minPeriodMs` after the previous start and never sooner than
 * half of what the previous run took. So the loop sleeps at least a third of the
 * time, however slow the kernel and however fast the changes.
 */
export class Throttle {
  readonly #clock: Clock
  readonly #minPeriodMs: number
  #startedAt = Number.NEGATIVE_INFINITY
  #earliest = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, minPeriodMs: number) {
    this.#clock = clock
    this.#minPeriodMs = minPeriodMs
  }

  /** Milliseconds until the next run may start. */
  delay(): number {
    return Math.max(0, this.#earliest - this.#clock.now())
  }

  started(): void {
    this.#startedAt = this.#clock.now()
  }

  ended(): void {
    const now = this.#clock.now()
    const took = now - this.#startedAt
    this.#earliest = Math.max(this.#startedAt + this.#minPeriodMs, now + took / 2)
  }
}
