/** So many requests run at once; the others wait for their turn, in order. */
export class RequestLimit {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(max: number) {
    this.#free = max
  }

  /** Runs a task when it is its turn. Throws what it throws, or the reason of the signal before its turn. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal)
    try {
      return await task()
    } finally {
      this.#end()
    }
  }

  /** The same for a stream, which takes its turn until it ends. */
  async *stream<T>(source: () => AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
    await this.#turn(signal)
    try {
      yield* source()
    } finally {
      this.#end()
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        this.#waiting.delete(start)
        reject(signal.reason as Error)
      }
      this.#waiting.add(start)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  #end(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
