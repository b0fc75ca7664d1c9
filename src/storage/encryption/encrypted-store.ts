import type {
  ListResult,
  Operation,
  Store,
  StoredEntry,
  TxnResult,
  WatchBatch,
  WatchQuery,
} from '../store.ts'
import { decryptValue, encryptValue, isEncrypted } from './encrypted-value.ts'
import type { Keyring } from './keyring.ts'

export interface Encryption {
  readonly keys: Keyring
  /** Values are encrypted if their key has one of these prefixes; all others are stored as they are. */
  readonly prefixes: readonly string[]
}

/** Whether the values of a storage key are encrypted. */
export function isConfidential({ prefixes }: Pick<Encryption, 'prefixes'>, key: string): boolean {
  return prefixes.some((prefix) => key.startsWith(prefix))
}

/**
 * A view of a store that encrypts confidential values when it writes and decrypts them when it reads. Values
 * that an older version stored in clear are read as they are. A value that cannot be decrypted is `damaged`,
 * and `undecryptable` says why.
 */
export function encryptedStore(store: Store, encryption: Encryption): Store {
  const decrypted = <T extends StoredEntry | undefined>(entry: T): T =>
    entry === undefined ? entry : (decryptEntry(encryption, entry) as T)
  const encrypted = (operation: Operation): Operation => encryptOperation(encryption, operation)
  const listed = (result: ListResult): ListResult =>
    result.refused === undefined ? { ...result, entries: result.entries.map(decrypted) } : result
  const compared = (result: TxnResult): TxnResult =>
    result.committed ? result : { ...result, current: result.current.map(decrypted) }
  return {
    revision: () => store.revision(),
    get: async (key) => decrypted(await store.get(key)),
    list: async (query) => listed(await store.list(query)),
    txn: async ({ compare, operations }) =>
      compared(await store.txn({ compare, operations: operations.map(encrypted) })),
    watch: (query) => new DecryptedWatch(store, query, decrypted),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
  }
}

/** The entry with its value in clear. */
export function decryptEntry(
  encryption: { readonly keys: Pick<Keyring, 'find'> } & Pick<Encryption, 'prefixes'>,
  entry: StoredEntry,
): StoredEntry {
  const { key, value, damaged } = entry
  if (damaged === true || !isConfidential(encryption, key) || !isEncrypted(value)) return entry
  const result = decryptValue(encryption.keys, key, value)
  if (result.cause === undefined) return { ...entry, value: result.value }
  return { ...entry, damaged: true, undecryptable: result.cause }
}

function encryptOperation(encryption: Encryption, operation: Operation): Operation {
  if (operation.op === 'delete' || !isConfidential(encryption, operation.key)) return operation
  const { key, value } = operation
  return { op: 'put', key, value: encryptValue(encryption.keys.first, key, value) }
}

/** A watch whose batches have decrypted values. */
class DecryptedWatch implements AsyncIterableIterator<WatchBatch> {
  readonly #watch: AsyncIterableIterator<WatchBatch>
  readonly #decrypted: (entry: StoredEntry | undefined) => StoredEntry | undefined

  constructor(
    store: Store,
    query: WatchQuery,
    decrypted: (entry: StoredEntry | undefined) => StoredEntry | undefined,
  ) {
    this.#watch = store.watch(query)
    this.#decrypted = decrypted
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<WatchBatch, undefined>> {
    const result = await this.#watch.next()
    if (result.done === true) return { done: true, value: undefined }
    const batch = result.value
    if (batch.refused !== undefined) return { done: false, value: batch }
    const events = batch.events.map((event) => ({ ...event, entry: this.#decrypted(event.entry) }))
    return { done: false, value: { ...batch, events } }
  }

  async return(): Promise<IteratorResult<WatchBatch, undefined>> {
    await this.#watch.return?.()
    return { done: true, value: undefined }
  }
}
