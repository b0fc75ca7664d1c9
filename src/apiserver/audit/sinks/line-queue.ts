export interface QueueBounds {
  readonly lines: number
  /** Of the lines as UTF-16, which is what they take in memory at most. */
  readonly bytes: number
}

/** Lines that wait, in order and within bounds. */
export class LineQueue {
  readonly #bounds: QueueBounds
  #lines: string[] = []
  #first = 0
  #bytes = 0

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds
  }

  get length(): number {
    return this.#lines.length - this.#first
  }

  /** Whether the line was taken. */
  push(line: string): boolean {
    const bytes = bytesOf(line)
    const isFull = this.length >= this.#bounds.lines || this.#bytes + bytes > this.#bounds.bytes
    if (isFull) return false
    this.#lines.push(line)
    this.#bytes += bytes
    return true
  }

  /** Removes the first lines, at least one if there is any. */
  take(bounds: QueueBounds): readonly string[] {
    let end = this.#first
    for (let bytes = 0; end < this.#lines.length && end - this.#first < bounds.lines; end++) {
      bytes += bytesOf(this.#lines[end]!)
      if (bytes > bounds.bytes && end > this.#first) break
    }
    const taken = this.#lines.slice(this.#first, end)
    for (const line of taken) this.#bytes -= bytesOf(line)
    this.#first = end
    this.#shrink()
    return taken
  }

  /** Forgets the lines that were taken once they are the larger part. */
  #shrink(): void {
    if (this.#first * 2 < this.#lines.length) return
    this.#lines = this.#lines.slice(this.#first)
    this.#first = 0
  }
}

function bytesOf(line: string): number {
  return 2 * line.length
}
