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
import type { Bounds, LogReader } from './log-reader.ts'

/** Entries that are read without letting anything else run: a few milliseconds. */
const CHUNK = 500

/** Changes handed to a watch at once; a single larger revision still stays whole. */
const BATCH = { events: 1000, bytes: 4 << 20 } as const

/**
 * The log as far as it was acknowledged. The file may already hold more; every
 * query names a revision, so no reader sees it before its writer is answered.
 */
export class CommittedLog implements WatchedLog {
  readonly #reader: LogReader
  readonly #meaningOf: (error: unknown) => unknown
  #oldest: number
  #newest: number
  #failure: Error | undefined
  #latest: { readonly question: string; readonly changes: Changes } | undefined

  /** `meaningOf` maps what a read threw to what is thrown instead. */
  constructor(reader: LogReader, meaningOf: (error: unknown) => unknown) {
    this.#reader = reader
    this.#meaningOf = meaningOf
    const { oldest, newest } = reader.bounds()
    this.#oldest = oldest
    this.#newest = newest
  }

  /** @throws what ended the store, when it failed */
  bounds(): Bounds {
    if (this.#failure !== undefined) throw this.#failure
    return { oldest: this.#oldest, newest: this.#newest }
  }

  get newest(): number {
    return this.bounds().newest
  }

  acknowledge(newest: number): void {
    this.#newest = newest
  }

  /** From now on nothing up to `revision` can be read; called before it is removed. */
  forget(revision: number): void {
    this.#oldest = Math.max(this.#oldest, Math.min(revision, this.#newest))
  }

  fail(error: Error): void {
    this.#failure = error
  }

  at(key: string, revision = this.bounds().newest): StoredEntry | undefined {
    return this.#read(() => this.#reader.at(key, revision))
  }

  refusal(revision: number): RevisionRefusal | undefined {
    const { oldest, newest } = this.bounds()
    if (revision < oldest) return { refused: 'compacted', oldest, newest }
    if (revision > newest) return { refused: 'future', oldest, newest }
    return undefined
  }

  /**
   * Reads a list in chunks. Compaction may remove rows in between: then the
   * list is refused, or taken again where no revision was requested.
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
   * The changes after `revision` under a prefix; fewer than there are when they
   * are many. Watches of one prefix mostly stand at one revision, so the latest
   * answer is kept: the first of them reads it, all others share its events.
   */
  changes(prefix: string, revision: number): Changes {
    const question = `${revision} ${this.bounds().newest} ${prefix}`
    if (this.#latest?.question !== question) {
      this.#latest = { question, changes: this.#read(() => this.#changes(prefix, revision)) }
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
      throw this.#meaningOf(error)
    }
  }

  async #pause(): Promise<void> {
    await setImmediate()
    this.bounds()
  }
}
