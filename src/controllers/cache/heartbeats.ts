import type { Clock } from '../../lib/clock.ts'

/**
 * When the heartbeats of a collection were last seen to change, in milliseconds since the epoch by the clock of
 * this replica, because the time in a heartbeat comes from its sender's clock. Deleted objects are forgotten.
 * Objects of the first list do not count as heartbeats, because they may be of any age.
 */
export class Heartbeats<T> {
  readonly #textOf: (object: T) => string
  readonly #clock: Pick<Clock, 'now'>
  readonly #heardAt = new Map<string, number>()
  #isListed = false

  /** `textOf`: the field that a sender changes with each heartbeat; empty for an object without one. */
  constructor(textOf: (object: T) => string, clock: Pick<Clock, 'now'>) {
    this.#textOf = textOf
    this.#clock = clock
  }

  /** Undefined: no heartbeat was seen. */
  heardAt(key: string): number | undefined {
    return this.#heardAt.get(key)
  }

  /** The first list is complete: changed and new objects count as heartbeats from now on. */
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
