import type { Clock } from '../../lib/clock.ts'

/** Rejections that are answered at once, such as those of clients whose tokens expired together. */
const BURST = 200
const PER_SECOND = 500
/** Shorter than clients wait for an answer. */
const MAX_WAIT_MS = 10_000

/**
 * Delays the answers to requests whose credentials are rejected, once there are many: a client that sends bad
 * ones as fast as it gets answers would otherwise keep the server from others. Nothing is counted by client:
 * who floods has many addresses.
 */
export class RejectionPace {
  readonly #clock: Pick<Clock, 'now' | 'after'>
  /** When the answer to the latest rejection is due, without the burst; milliseconds since 1970. */
  #due = 0

  constructor(clock: Pick<Clock, 'now' | 'after'>) {
    this.#clock = clock
  }

  /** Resolves when a rejection may be answered. */
  wait(): Promise<void> {
    const now = this.#clock.now()
    const step = 1000 / PER_SECOND
    this.#due = Math.min(Math.max(this.#due + step, now), now + BURST * step + MAX_WAIT_MS)
    const wait = this.#due - now - BURST * step
    if (wait <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#clock.after(wait, resolve)
    })
  }
}
