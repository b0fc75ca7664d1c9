/** Where watches wait for the next commit, or for the end of their store. */
export class Parking {
  readonly #waiting = new Set<() => void>()
  #closed = false

  get closed(): boolean {
    return this.#closed
  }

  /** Resolves at the next `wakeAll`, or earlier by the function that is in `mine` meanwhile. */
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
