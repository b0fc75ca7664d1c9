/**
 * The running watches, or other answers that last, such as followed logs. Their number is limited, and `endAll` ends them
 * when the server stops.
 */
export class WatchRegistry {
  readonly #limit: number
  /** Ends each running watch. */
  readonly #ends = new Set<() => void>()
  #isClosed = false

  /** `limit`: watches at one time. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many watches run. */
  get size(): number {
    return this.#ends.size
  }

  /** Whether as many watches run as the limit allows. */
  get isFull(): boolean {
    return this.#ends.size >= this.#limit
  }

  /** Whether the server is stopping. A watch that is added then is ended at once. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Adds a running watch. `end` must end it, and is called at once if the server is already stopping. @returns
   * a function that removes the watch, to be called when it has ended
   */
  add(end: () => void): () => void {
    this.#ends.add(end)
    if (this.#isClosed) end()
    return () => this.#ends.delete(end)
  }

  /** Ends all watches, and from then on every watch that is added. */
  endAll(): void {
    this.#isClosed = true
    for (const end of [...this.#ends]) end()
  }
}
