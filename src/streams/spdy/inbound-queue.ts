/** Takes a chunk, or null for the end; returns whether more is wanted now. */
export type Push = (chunk: Buffer | null) => boolean

/** Bytes of a stream that arrived and that its consumer has not taken yet. */
export class InboundQueue {
  readonly #push: Push
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #delivered = 0
  #isWanted = false
  #isEnded = false

  constructor(push: Push) {
    this.#push = push
  }

  /** How many bytes wait. */
  get bytes(): number {
    return this.#bytes
  }

  /** How many bytes the consumer has got since this was last called. */
  takeDelivered(): number {
    const delivered = this.#delivered
    this.#delivered = 0
    return delivered
  }

  get delivered(): number {
    return this.#delivered
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#flush()
  }

  /** Nothing is added after that. */
  end(): void {
    this.#isEnded = true
    if (this.#chunks.length === 0) this.#push(null)
  }

  /** The consumer wants more. */
  wanted(): void {
    this.#isWanted = true
    this.#flush()
  }

  #flush(): void {
    while (this.#isWanted) {
      const chunk = this.#chunks.shift()
      if (chunk === undefined) return
      this.#bytes -= chunk.length
      this.#delivered += chunk.length
      this.#isWanted = this.#push(chunk)
      if (this.#isEnded && this.#chunks.length === 0) this.#push(null)
    }
  }
}
