import type { Clock } from './clock.ts'

/**
 * Decides when the next run may start: `minPeriodMs` after the start of the previous run, and after a pause of at
 * least half the time that run took. So the first change is written at once, and the following ones together; the loop
 * sleeps at least a third of the time, even if the kernel is slow.
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

  /** A run starts now. */
  started(): void {
    this.#startedAt = this.#clock.now()
  }

  /** The run that started last ends now; without this call it delays no other run. */
  ended(): void {
    const now = this.#clock.now()
    const took = now - this.#startedAt
    this.#earliest = Math.max(this.#startedAt + this.#minPeriodMs, now + took / 2)
  }
}
