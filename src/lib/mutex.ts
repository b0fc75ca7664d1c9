/** Runs asynchronous tasks one after another, in the order in which they were added. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve()

  /** Settles as `work` does, once everything before it has ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work)
    this.#tail = result.catch(() => undefined)
    return result
  }
}
