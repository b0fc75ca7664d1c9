/**
 * A revisioned key-value log, as in etcd. Every committed transaction that changes
 * anything takes a new revision, larger than all before; all its changes have it.
 * Drivers differ only in where they keep the log: `testing/conformance.ts` tests the contract.
 */
export interface Store {
  /** The newest committed revision (linearizable). 0: nothing was ever written. */
  revision(): Promise<number>
  /** The entry at the newest revision; undefined: there is none. */
  get(key: string): Promise<StoredEntry | undefined>
  /** Entries under a prefix in key order, at one revision. */
  list(query: ListQuery): Promise<ListResult>
  /**
   * Compares, then applies all operations under one revision or none.
   * @throws NP_STORAGE_DUPLICATE_KEY; otherwise the errors of the driver;
   * NP_STORAGE_UNKNOWN_OUTCOME leaves open whether the transaction was applied
   */
  txn(transaction: Transaction): Promise<TxnResult>
  /**
   * Every change after `query.after`, in order, without gaps, never splitting a
   * revision, until the consumer stops or the last batch has the reason for the end.
   * The revision of its batches reaches every `revision()`, even if nothing under the prefix changed. A watch whose
   * next revision is compacted ends with `compacted`. A slow consumer costs no memory.
   */
  watch(query: WatchQuery): AsyncIterableIterator<WatchBatch>
  /** Removes every version that was superseded at or before `revision`. */
  compact(revision: number): Promise<void>
  /** Ends every watch and releases resources. */
  close(): Promise<void>
}

/** A key with its value. */
export interface StoredEntry {
  readonly key: string
  /** Never changed after the write; shared by reference where the driver can. */
  readonly value: Buffer
  /** The revision that created the key. */
  readonly createRevision: number
  /** The revision of the last change. */
  readonly modRevision: number
  /**
   * The value differs from what was written, by the driver's checksum, or cannot be decrypted. It must not be
   * served.
   */
  readonly damaged?: true
  /** Set only with `damaged`: why the encrypted value cannot be decrypted, as the end of a sentence. */
  readonly undecryptable?: string
}

/** Which entries to list. */
export interface ListQuery {
  readonly prefix: string
  /** Only keys greater than this one. */
  readonly after?: string
  /** At most this many entries; all when absent. */
  readonly limit?: number
  /** The state at this revision; the newest when absent. */
  readonly revision?: number
}

/** A list, or why its revision cannot be read. */
export type ListResult = ListPage | RevisionRefusal

/** The entries of a list, sorted by key. */
export interface ListPage {
  readonly refused?: never
  readonly entries: readonly StoredEntry[]
  /** The revision that the page shows. */
  readonly revision: number
  /** How many entries follow the last one under the same prefix. */
  readonly remaining: number
}

/** A revision cannot be read. `compacted`: it is older than `oldest`. `future`: it is not committed yet. */
export interface RevisionRefusal {
  readonly refused: 'compacted' | 'future'
  /** The oldest revision that can still be listed or watched from. */
  readonly oldest: number
  readonly newest: number
}

/** A condition of a transaction. */
export interface Compare {
  readonly key: string
  /** The key's expected modRevision; 0: the key must be absent. */
  readonly modRevision: number
}

/** A change of one key; a put replaces the whole value. */
export type Operation =
  | { readonly op: 'put'; readonly key: string; readonly value: Buffer }
  | { readonly op: 'delete'; readonly key: string }

/** Conditions, and the changes that are made when all of them hold. */
export interface Transaction {
  readonly compare: readonly Compare[]
  /** At most one operation per key. */
  readonly operations: readonly Operation[]
}

/** The result of a transaction; `revision` is the newest one after it. */
export type TxnResult =
  | { readonly committed: true; readonly revision: number }
  | {
      readonly committed: false
      readonly revision: number
      /** The entry of each compared key, in the order of `compare`. */
      readonly current: readonly (StoredEntry | undefined)[]
    }

/** Which changes to watch. */
export interface WatchQuery {
  readonly prefix: string
  /** Changes of later revisions only: pass the revision of a list. */
  readonly after: number
  /** Ends the watch. */
  readonly signal?: AbortSignal
}

/** The change of one key. */
export interface StoreEvent {
  readonly key: string
  readonly revision: number
  /** Undefined: the key was deleted. */
  readonly entry: StoredEntry | undefined
}

/** Changes in the order of their revisions, or why the watch ends. */
export type WatchBatch =
  | {
      readonly refused?: never
      readonly events: readonly StoreEvent[]
      /** The watch is complete up to this revision. */
      readonly revision: number
    }
  | RevisionRefusal
