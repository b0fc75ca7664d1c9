import { refuseDuplicateKeys } from '../distinct-keys.ts'
import { LogCursor } from '../log-cursor.ts'
import { Parking } from '../parking.ts'
import type {
  ListQuery,
  ListResult,
  Operation,
  Store,
  StoredEntry,
  StoreEvent,
  Transaction,
  TxnResult,
} from '../store.ts'
import { History } from './history.ts'

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
