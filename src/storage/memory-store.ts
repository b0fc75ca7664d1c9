import { SortedKeys } from '../lib/sorted-keys.ts'
import { refuseDuplicateKeys } from './distinct-keys.ts'
import { type Changes, LogCursor, Parking, type WatchedLog } from './log-cursor.ts'
import type {
  ListQuery,
  ListResult,
  Operation,
  RevisionRefusal,
  Store,
  StoredEntry,
  StoreEvent,
  Transaction,
  TxnResult,
} from './store.ts'

/** Events of one batch for a watch; a single larger revision is still one batch. */
const BATCH = 1000

export interface MemoryStoreOptions {
  /** Revisions of history that are kept. Default 10,000. */
  readonly historyRevisions?: number
  /** Bytes of values that the history may hold before it is shortened. Default 64 MiB. */
  readonly historyBytes?: number
}

/** A store in the memory of this process, which is lost when it ends. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { historyRevisions = 10_000, historyBytes = 64 << 20 } = options
  const history = new History()
  const parking = new Parking()
  const commit = (operations: readonly Operation[]): void => {
    const revision = history.newest + 1
    const events = operations.flatMap((operation) => change(history, operation, revision))
    if (events.length === 0) return
    history.append(events)
    shorten(history, historyRevisions, historyBytes)
    parking.wakeAll()
  }

  return {
    revision: async () => history.newest,
    get: async (key) => history.at(key, history.newest),
    list: async (query) => list(history, query),
    txn: async (transaction) => txn(history, transaction, commit),
    watch: (query) => new LogCursor(history, parking, query),
    compact: async (revision) => history.compact(revision),
    close: async () => parking.close(),
  }
}

function txn(
  history: History,
  transaction: Transaction,
  commit: (operations: readonly Operation[]) => void,
): TxnResult {
  const { compare, operations } = transaction
  refuseDuplicateKeys(operations)
  const current = compare.map(({ key }) => history.at(key, history.newest))
  const holds = compare.every(
    (one, index) => (current[index]?.modRevision ?? 0) === one.modRevision,
  )
  if (!holds) return { committed: false, revision: history.newest, current }
  commit(operations)
  return { committed: true, revision: history.newest }
}

function list(history: History, query: ListQuery): ListResult {
  const { prefix, after, limit = Number.POSITIVE_INFINITY, revision = history.newest } = query
  const refusal = history.refusal(revision)
  if (refusal !== undefined) return refusal
  const entries: StoredEntry[] = []
  let remaining = 0
  for (const entry of history.entries(prefix, after, revision)) {
    if (entries.length < limit) entries.push(entry)
    else remaining++
  }
  return { entries, revision, remaining }
}

/** The event of one operation; empty for the deletion of an absent key. */
function change(history: History, operation: Operation, revision: number): readonly StoreEvent[] {
  const { key } = operation
  const before = history.at(key, history.newest)
  if (operation.op === 'delete') {
    return before === undefined ? [] : [{ key, revision, entry: undefined }]
  }
  const createRevision = before?.createRevision ?? revision
  const entry = { key, value: operation.value, createRevision, modRevision: revision }
  return [{ key, revision, entry }]
}

function shorten(history: History, revisions: number, bytes: number): void {
  history.compact(history.newest - revisions)
  while (history.bytes > bytes) {
    const oldest = history.oldestChange()
    if (oldest === undefined || oldest === history.newest) return
    history.compact(oldest)
  }
}

/**
 * Every version of every key since the last compaction, and the order in which
 * they were committed. The version that was current at `oldest` is kept, so
 * that lists from `oldest` on and watches after it are exact.
 */
class History implements WatchedLog {
  readonly #keys = new SortedKeys()
  readonly #versions = new Map<string, StoreEvent[]>()
  #log: StoreEvent[] = []
  /** Index in `#log` of the first event that was not compacted away. */
  #head = 0
  #bytes = 0
  #oldest = 0
  #newest = 0

  get oldest(): number {
    return this.#oldest
  }

  get newest(): number {
    return this.#newest
  }

  /** Bytes of all values in the history. */
  get bytes(): number {
    return this.#bytes
  }

  /** Appends the changes of the next revision. */
  append(events: readonly StoreEvent[]): void {
    for (const event of events) {
      const versions = this.#versions.get(event.key)
      if (versions === undefined) {
        this.#versions.set(event.key, [event])
        this.#keys.add(event.key)
      } else versions.push(event)
      this.#log.push(event)
      this.#bytes += event.entry?.value.length ?? 0
      this.#newest = event.revision
    }
  }

  /** The entry of `key` at `revision`, which must not be older than `oldest`; undefined: there was none. */
  at(key: string, revision: number): StoredEntry | undefined {
    const versions = this.#versions.get(key)
    if (versions === undefined) return undefined
    for (let index = versions.length - 1; index >= 0; index--) {
      const version = versions[index]!
      if (version.revision <= revision) return version.entry
    }
    return undefined
  }

  /** The entries under `prefix` that sort after the key `after`, as they were at `revision`. */
  *entries(prefix: string, after: string | undefined, revision: number): Generator<StoredEntry> {
    for (const key of this.#keys.under(prefix, after)) {
      const entry = this.at(key, revision)
      if (entry !== undefined) yield entry
    }
  }

  /** Why a revision cannot be read; undefined when it can. */
  refusal(revision: number): RevisionRefusal | undefined {
    const [oldest, newest] = [this.#oldest, this.#newest]
    if (revision < oldest) return { refused: 'compacted', oldest, newest }
    if (revision > newest) return { refused: 'future', oldest, newest }
    return undefined
  }

  /** One batch of the changes after `after` under a prefix; empty only if there are none. */
  changes(prefix: string, after: number): Changes {
    for (let at = after; ; ) {
      const all = this.#eventsAfter(at)
      at = all.at(-1)?.revision ?? this.#newest
      const events = all.filter(({ key }) => key.startsWith(prefix))
      if (events.length > 0 || at === this.#newest) return { events, revision: at }
    }
  }

  /** Removes every version that was superseded at or before `revision`. */
  compact(revision: number): void {
    if (revision <= this.#oldest) return
    this.#oldest = Math.min(revision, this.#newest)
    while (this.#head < this.#log.length && this.#log[this.#head]!.revision <= this.#oldest) {
      const event = this.#log[this.#head++]!
      this.#bytes -= event.entry?.value.length ?? 0
      this.#trim(event.key)
    }
    if (this.#head > 1024 && this.#head > this.#log.length / 2) {
      this.#log = this.#log.slice(this.#head)
      this.#head = 0
    }
  }

  /** The revision of the oldest change in the history; undefined: it is empty. */
  oldestChange(): number | undefined {
    return this.#log[this.#head]?.revision
  }

  /** Whole revisions in commit order: at least BATCH events, or all that there are. */
  #eventsAfter(revision: number): readonly StoreEvent[] {
    const start = this.#indexAfter(revision)
    let end = Math.min(start + BATCH, this.#log.length)
    while (end > start && this.#log[end]?.revision === this.#log[end - 1]?.revision) end++
    return this.#log.slice(start, end)
  }

  #indexAfter(revision: number): number {
    let low = this.#head
    let high = this.#log.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#log[middle]!.revision <= revision) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Removes the versions of a key that were superseded at or before `#oldest`. */
  #trim(key: string): void {
    const versions = this.#versions.get(key)
    if (versions === undefined) return
    let keep = 0
    while (keep + 1 < versions.length && versions[keep + 1]!.revision <= this.#oldest) keep++
    const first = versions[keep]!
    if (first.entry === undefined && first.revision <= this.#oldest) keep++
    if (keep > 0) versions.splice(0, keep)
    if (versions.length > 0) return
    this.#versions.delete(key)
    this.#keys.delete(key)
  }
}
