import type { Clock } from '../../../lib/clock.ts'

/** An answer, and how long it may be used. */
export interface Kept<T> {
  readonly value: T
  /** Milliseconds; 0: only by those who wait for it already. */
  readonly forMs: number
}

export interface AnswerCacheOptions {
  readonly clock: Pick<Clock, 'now'>
  /** Answers that are kept; the one that was used longest ago makes way for another. */
  readonly maxKept: number
  /** Questions that may be open at the same time. */
  readonly maxOpen: number
}

/** Answers of another server by their question, each for a while. */
export class AnswerCache<T> {
  readonly #options: AnswerCacheOptions
  readonly #kept = new Map<string, { readonly value: T; readonly until: number }>()
  readonly #open = new Map<string, Promise<T>>()

  constructor(options: AnswerCacheOptions) {
    this.#options = options
  }

  /** The kept answer, or what `find` returns; undefined: too many other questions are open. */
  get(question: string, find: () => Promise<Kept<T>>): Promise<T> | undefined {
    const kept = this.#kept.get(question)
    this.#kept.delete(question)
    if (kept !== undefined && kept.until > this.#options.clock.now()) {
      this.#kept.set(question, kept)
      return Promise.resolve(kept.value)
    }
    const open = this.#open.get(question)
    if (open !== undefined || this.#open.size >= this.#options.maxOpen) return open
    const found = this.#keep(question, find).finally(() => this.#open.delete(question))
    this.#open.set(question, found)
    return found
  }

  async #keep(question: string, find: () => Promise<Kept<T>>): Promise<T> {
    const { value, forMs } = await find()
    if (forMs <= 0) return value
    this.#kept.set(question, { value, until: this.#options.clock.now() + forMs })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > this.#options.maxKept && oldest !== undefined) this.#kept.delete(oldest)
    return value
  }
}
