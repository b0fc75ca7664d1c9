import type { Clock } from '../../lib/clock.ts'

/**
 * When the heartbeats of a collection were last seen to change, by our clock:
 * what a heartbeat says of the time is its sender's idea of it. Only objects that
 * exist are remembered. What the first list shows may be of any age, so nobody
 * has been heard of by that.
 */
export class Heartbeats<T> {
  readonly #textOf: (object: T) => string
  readonly #clock: Pick<Clock, 'now'>
  readonly #heardAt = new Map<string, number>()
  #isListed = false

  /** `textOf`: what a sender changes to show that it lives; empty where there is nothing. */
  constructor(textOf: (object: T) => string, clock: Pick<Clock, 'now'>) {
    this.#textOf = textOf
    this.#clock = clock
  }

  heardAt(key: string): number | undefined {
    return this.#heardAt.get(key)
  }

  /** The first list is complete: what changes or comes from now on is news. */
  listed(): void {
    this.#isListed = true
  }

  changed(key: string, before: T | undefined, after: T | undefined): void {
    const text = after === undefined ? '' : this.#textOf(after)
    if (text === '') this.#heardAt.delete(key)
    else if (this.#isListed && (before === undefined || this.#textOf(before) !== text)) {
      this.#heardAt.set(key, this.#clock.now())
    }
  }
}
