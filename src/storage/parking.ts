/** Wakes waiting watches at the next commit and when their store is closed. */
export class Parking {
  readonly #waiting = new Set<() => void>()
  #closed = false

  get closed(): boolean {
    return this.#closed
  }

  /** Adds a function to `mine` that wakes this watch alone. Resolves when that is called, or at the next `wakeAll`. */
  wait(mine: Set<() => void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => {
      this.#waiting.delete(wake)
      mine.delete(wake)
      resolve()
    }
    this.#waiting.add(wake)
    mine.add(wake)
    return promise
  }

  wakeAll(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  close(): void {
    this.#closed = true
    this.wakeAll()
  }
}
