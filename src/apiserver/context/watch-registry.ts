/** The watches that run now: their number is bounded, and stopping the server ends them. */
export class WatchRegistry {
  readonly #limit: number
  readonly #ends = new Set<() => void>()
  #isClosed = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#ends.size
  }

  /** As many run as there may be. */
  get isFull(): boolean {
    return this.#ends.size >= this.#limit
  }

  /** The server stops: no watch begins any more. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * `end` must end the watch, which may be at once; the returned function says
   * that it has ended.
   */
  add(end: () => void): () => void {
    this.#ends.add(end)
    if (this.#isClosed) end()
    return () => this.#ends.delete(end)
  }

  endAll(): void {
    this.#isClosed = true
    for (const end of [...this.#ends]) end()
  }
}
