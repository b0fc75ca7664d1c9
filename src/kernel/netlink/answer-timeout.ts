import type { Clock } from '../../lib/clock.ts'

/** The longest wait for the next datagram of an answer. */
export const TIMEOUT_MS = 5000
/** If this process was suspended, the answer may have arrived and wait to be read when the time is over. */
const GRACE_MS = 100

/** Calls `onEnd` once when no datagram of an answer arrived for `TIMEOUT_MS`; each one calls `restart`. */
export class AnswerTimeout {
  readonly #clock: Clock
  readonly #onEnd: () => void
  #cancel: () => void

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
    this.#cancel = this.#start()
  }

  restart(): void {
    this.#cancel()
    this.#cancel = this.#start()
  }

  stop(): void {
    this.#cancel()
  }

  #start(): () => void {
    return this.#clock.after(TIMEOUT_MS, () => {
      this.#cancel = this.#clock.after(GRACE_MS, this.#onEnd)
    })
  }
}
