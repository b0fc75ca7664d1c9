/** The watches that run now: their number is bounded, and stopping the server ends them. */
export class WatchRegistry {
  readonly #limit: number
  readonly #ends = new Set<() => void>()
  #isOpen = true

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#ends.size
  }

  get isFull(): boolean {
    return !this.#isOpen || this.#ends.size >= this.#limit
  }

  /** `end` must end the watch; the returned function says that it has ended. */
  add(end: () => void): () => void {
    this.#ends.add(end)
    return () => this.#ends.delete(end)
  }

  endAll(): void {
    this.#isOpen = false
    for (const end of [...this.#ends]) end()
  }
}
