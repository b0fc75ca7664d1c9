import type { RevisionRefusal, StoreEvent, WatchBatch, WatchQuery } from './store.ts'

/** The part of a log that a watch needs. */
export interface WatchedLog {
  /** The newest revision that may be delivered. */
  readonly newest: number
  /** Why nothing can be read after this revision; undefined when it can. */
  refusal(revision: number): RevisionRefusal | undefined
  /** One batch of the changes after a revision under a prefix: whole revisions, at least one if there is one. */
  changes(prefix: string, after: number): Changes
}

/** Whole revisions of changes, and the revision up to which they are complete. */
export interface Changes {
  readonly events: readonly StoreEvent[]
  readonly revision: number
}

/**
 * A watch as a cursor into a log. It holds no events, so a slow reader costs no memory; it ends with
 * `compacted` when compaction removes the revisions that it has not delivered yet.
 */
export class LogCursor implements AsyncIterableIterator<WatchBatch> {
  readonly #log: WatchedLog
  readonly #parking: Parking
  readonly #query: WatchQuery
  readonly #end = (): void => this.#finish()
  readonly #waits = new Set<() => void>()
  #after: number
  #done = false

  constructor(log: WatchedLog, parking: Parking, query: WatchQuery) {
    this.#log = log
    this.#parking = parking
    this.#query = query
    this.#after = query.after
    query.signal?.addEventListener('abort', this.#end, { once: true })
    if (query.signal?.aborted === true) this.#finish()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<WatchBatch, undefined>> {
    while (!this.#done && !this.#parking.closed) {
      const batch = this.#take()
      if (batch !== undefined) return { done: false, value: batch }
      await this.#parking.wait(this.#waits)
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<WatchBatch, undefined>> {
    this.#finish()
    return { done: true, value: undefined }
  }

  /** The next batch, or undefined while there is nothing new. */
  #take(): WatchBatch | undefined {
    const refusal = this.#log.refusal(this.#after)
    if (refusal !== undefined) {
      this.#finish()
      return refusal
    }
    if (this.#after === this.#log.newest) return undefined
    const changes = this.#log.changes(this.#query.prefix, this.#after)
    this.#after = changes.revision
    return changes
  }

  #finish(): void {
    this.#done = true
    this.#query.signal?.removeEventListener('abort', this.#end)
    for (const wake of this.#waits) wake()
  }
}

/** Wakes waiting watches at the next commit and when their store is closed. */
export class Parking {
  readonly #waiting = new Set<() => void>()
  #closed = false

  get closed(): boolean {
    return this.#closed
  }

  /** Adds a function to `mine` that wakes this watch alone. Resolves when that is called, or at the next `wakeAll`. */
  wait(mine: Set<() => void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => {
      this.#waiting.delete(wake)
      mine.delete(wake)
      resolve()
    }
    this.#waiting.add(wake)
    mine.add(wake)
    return promise
  }

  wakeAll(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  close(): void {
    this.#closed = true
    this.wakeAll()
  }
}
