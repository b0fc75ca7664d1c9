/** Notifies the readers of a log when there is more of it, and when it is complete. */
export class LogProgress {
  #next = Promise.withResolvers<void>()
  #isClosed = false

  /** Nothing more will be written. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Resolves at the next change. */
  next(): Promise<void> {
    return this.#next.promise
  }

  changed(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers<void>()
    resolve()
  }

  close(): void {
    this.#isClosed = true
    this.changed()
  }
}
