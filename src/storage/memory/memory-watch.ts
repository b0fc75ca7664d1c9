import type { StoreEvent, WatchBatch, WatchQuery } from '../store.ts'
import type { History } from './history.ts'

/** Events handed over at once; a single larger revision still stays whole. */
const BATCH = 1000

/** Parked watches, woken by every commit and by the store's end. */
export interface Wakeups {
  readonly parked: Set<() => void>
  readonly closed: boolean
}

/**
 * A cursor into the history: it holds no events of its own, so a slow reader
 * costs nothing and learns from compaction that it fell behind.
 */
export class MemoryWatch implements AsyncIterableIterator<WatchBatch> {
  readonly #history: History
  readonly #wakeups: Wakeups
  readonly #query: WatchQuery
  #after: number
  #done = false
  #wake: (() => void) | undefined

  constructor(history: History, wakeups: Wakeups, query: WatchQuery) {
    this.#history = history
    this.#wakeups = wakeups
    this.#query = query
    this.#after = query.after
    query.signal?.addEventListener('abort', () => this.#finish(), { once: true })
    if (query.signal?.aborted === true) this.#done = true
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<WatchBatch, undefined>> {
    while (!this.#done && !this.#wakeups.closed) {
      const batch = this.#take()
      if (batch !== undefined) return { done: false, value: batch }
      await this.#park()
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<WatchBatch, undefined>> {
    this.#finish()
    return { done: true, value: undefined }
  }

  /** The next batch, or undefined while there is nothing new. */
  #take(): WatchBatch | undefined {
    const { oldest, newest } = this.#history
    if (this.#after < oldest || this.#after > newest) {
      this.#done = true
      return { refused: this.#after < oldest ? 'compacted' : 'future', oldest, newest }
    }
    while (this.#after < newest) {
      const all = this.#history.eventsAfter(this.#after, BATCH)
      this.#after = all.at(-1)?.revision ?? newest
      const events = this.#matching(all)
      if (events.length > 0 || this.#after === newest) return { events, revision: this.#after }
    }
    return undefined
  }

  #matching(events: readonly StoreEvent[]): readonly StoreEvent[] {
    const { prefix } = this.#query
    return prefix === '' ? events : events.filter((event) => event.key.startsWith(prefix))
  }

  #park(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wakeups.parked.delete(this.#wake!)
        this.#wake = undefined
        resolve()
      }
      this.#wakeups.parked.add(this.#wake)
    })
  }

  #finish(): void {
    this.#done = true
    this.#wake?.()
  }
}
