import type { Clock } from '../../lib/clock.ts'

export const TIMEOUT_MS = 5000
/** When time is up because this process stood still, the answer is here already but not yet read. */
const GRACE_MS = 100

/** The wait for an answer; it starts anew with every sign of life. */
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
