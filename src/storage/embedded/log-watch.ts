import type { WatchBatch, WatchQuery } from '../store.ts'
import type { CommittedLog } from './committed-log.ts'

/** Parked watches, woken by every commit and by the store's end. */
export interface Wakeups {
  readonly parked: Set<() => void>
  readonly closed: boolean
}

/**
 * A cursor into the log: it holds no events of its own, so a slow reader costs
 * nothing and learns from compaction that it fell behind.
 */
export class LogWatch implements AsyncIterableIterator<WatchBatch> {
  readonly #log: CommittedLog
  readonly #wakeups: Wakeups
  readonly #query: WatchQuery
  readonly #end = (): void => this.#finish()
  #after: number
  #done = false
  #wake: (() => void) | undefined

  constructor(log: CommittedLog, wakeups: Wakeups, query: WatchQuery) {
    this.#log = log
    this.#wakeups = wakeups
    this.#query = query
    this.#after = query.after
    query.signal?.addEventListener('abort', this.#end, { once: true })
    if (query.signal?.aborted === true) this.#finish()
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
    const refusal = this.#log.refusal(this.#after)
    if (refusal !== undefined) {
      this.#finish()
      return refusal
    }
    if (this.#after === this.#log.bounds().newest) return undefined
    const changes = this.#log.changes(this.#query.prefix, this.#after)
    this.#after = changes.revision
    return changes
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
    this.#query.signal?.removeEventListener('abort', this.#end)
    this.#wake?.()
  }
}
