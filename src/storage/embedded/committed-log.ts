import { setImmediate } from 'node:timers/promises'
import type { Changes, WatchedLog } from '../log-cursor.ts'
import type {
  ListPage,
  ListQuery,
  ListResult,
  RevisionRefusal,
  StoredEntry,
  StoreEvent,
} from '../store.ts'
import type { Bounds, LogReader } from './database/log-reader.ts'

/** Entries that are read before the event loop runs other work: a few milliseconds. */
const CHUNK = 500

/** Limits of one batch of changes for a watch; a single larger revision is still one batch. */
const BATCH = { events: 1000, bytes: 4 << 20 } as const

/**
 * The log up to the newest acknowledged revision. The file may already hold newer revisions. Because every
 * query names a revision, no client sees a change before its writer is answered.
 */
export class CommittedLog implements WatchedLog {
  readonly #reader: LogReader
  readonly #mapError: (error: unknown) => unknown
  #oldest: number
  #newest: number
  #failure: Error | undefined
  #latest: { readonly query: string; readonly changes: Changes } | undefined

  /** `mapError` maps an error that a read threw to the error that is thrown instead. */
  constructor(reader: LogReader, mapError: (error: unknown) => unknown) {
    this.#reader = reader
    this.#mapError = mapError
    const { oldest, newest } = reader.bounds()
    this.#oldest = oldest
    this.#newest = newest
  }

  /** @throws the error that ended the store, if it failed */
  bounds(): Bounds {
    if (this.#failure !== undefined) throw this.#failure
    return { oldest: this.#oldest, newest: this.#newest }
  }

  get newest(): number {
    return this.bounds().newest
  }

  /** Makes the revisions up to `newest` visible. */
  acknowledge(newest: number): void {
    this.#newest = newest
  }

  /** Hides the revisions before `revision`. To be called before they are removed. */
  forget(revision: number): void {
    this.#oldest = Math.max(this.#oldest, Math.min(revision, this.#newest))
  }

  /** From now on every read throws `error`. */
  fail(error: Error): void {
    this.#failure = error
  }

  /** The entry of `key` at a revision, by default the newest; undefined: there was none. */
  at(key: string, revision = this.bounds().newest): StoredEntry | undefined {
    return this.#read(() => this.#reader.at(key, revision))
  }

  /** Why a revision cannot be read; undefined when it can. */
  refusal(revision: number): RevisionRefusal | undefined {
    const { oldest, newest } = this.bounds()
    if (revision < oldest) return { refused: 'compacted', oldest, newest }
    if (revision > newest) return { refused: 'future', oldest, newest }
    return undefined
  }

  /**
   * Reads a list in chunks. When compaction removes rows in between, the
   * list is refused, or read again when the query names no revision.
   */
  async list(query: ListQuery): Promise<ListResult> {
    for (;;) {
      const revision = query.revision ?? this.bounds().newest
      const page = this.refusal(revision) ?? (await this.#page(query, revision))
      const refusal = this.refusal(revision)
      if (refusal === undefined) return page
      if (query.revision !== undefined) return refusal
    }
  }

  /**
   * One batch of the changes after `revision` under a prefix. Most watches of one prefix are at the
   * same revision, so the latest batch is kept: the first watch reads it, the others share it.
   */
  changes(prefix: string, revision: number): Changes {
    const query = `${revision} ${this.bounds().newest} ${prefix}`
    if (this.#latest?.query !== query) {
      this.#latest = { query, changes: this.#read(() => this.#changes(prefix, revision)) }
    }
    return this.#latest.changes
  }

  #changes(prefix: string, revision: number): Changes {
    const { newest } = this.bounds()
    const events: StoreEvent[] = []
    let bytes = 0
    for (const event of this.#reader.events(prefix, revision, newest)) {
      const last = events.at(-1)?.revision ?? event.revision
      const full = events.length >= BATCH.events || bytes >= BATCH.bytes
      if (full && event.revision > last) return { events, revision: last }
      events.push(event)
      bytes += event.entry?.value.length ?? 0
    }
    return { events, revision: newest }
  }

  async #page(query: ListQuery, revision: number): Promise<ListPage> {
    const { prefix, limit = Number.MAX_SAFE_INTEGER } = query
    const entries: StoredEntry[] = []
    let after = query.after ?? ''
    for (let isEnd = limit === 0; !isEnd; ) {
      const size = Math.min(CHUNK, limit - entries.length)
      const from = { prefix, after, revision }
      const chunk = this.#read(() => this.#reader.list(from, size))
      entries.push(...chunk)
      after = chunk.at(-1)?.key ?? after
      isEnd = chunk.length < size || entries.length === limit
      if (!isEnd) await this.#pause()
    }
    if (entries.length < limit) return { entries, revision, remaining: 0 }
    const remaining = this.#read(() => this.#reader.count({ prefix, after, revision }))
    return { entries, revision, remaining }
  }

  #read<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      throw this.#mapError(error)
    }
  }

  async #pause(): Promise<void> {
    await setImmediate()
    this.bounds()
  }
}
