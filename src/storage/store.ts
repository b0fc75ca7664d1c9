/**
 * A revisioned key-value log. Every committed transaction that changes
 * anything takes a new revision, larger than all before; all its changes carry it.
 * Drivers differ in where they keep the log, never in what they answer:
 * `conformance.ts` is the contract in executable form.
 */
export interface Store {
  /** The newest committed revision (linearizable). 0: nothing was ever written. */
  revision(): Promise<number>
  /** The entry at the newest revision, or undefined. */
  get(key: string): Promise<StoredEntry | undefined>
  /** Entries under a prefix in key order, at one revision. */
  list(query: ListQuery): Promise<ListResult>
  /** Compares, then applies all operations under one revision or none. */
  txn(transaction: Transaction): Promise<TxnResult>
  /**
   * Every change after `query.after`, in order, without gaps, never splitting a
   * revision, until the consumer stops or the last batch has the reason for the end.
   * It reaches every `revision()`, whatever its prefix. One that compaction overtakes
   * gets `compacted`; reading slowly costs no memory.
   */
  watch(query: WatchQuery): AsyncIterableIterator<WatchBatch>
  /** Forgets history up to and including `revision`; the present state stays. */
  compact(revision: number): Promise<void>
  /** Ends every watch and releases resources. */
  close(): Promise<void>
}

export interface StoredEntry {
  readonly key: string
  /** Never changed after the write; shared by reference where the driver can. */
  readonly value: Buffer
  readonly createRevision: number
  readonly modRevision: number
  /** The value is not what was written: the driver's checksum differs. It must not be served. */
  readonly damaged?: true
}

export interface ListQuery {
  readonly prefix: string
  /** Only keys greater than this one. */
  readonly after?: string
  /** At most this many entries; all when absent. */
  readonly limit?: number
  /** The state at this revision; the newest when absent. */
  readonly revision?: number
}

export type ListResult = ListPage | RevisionRefusal

export interface ListPage {
  readonly refused?: never
  readonly entries: readonly StoredEntry[]
  /** The revision that the page shows. */
  readonly revision: number
  /** How many entries follow the last one under the same prefix. */
  readonly remaining: number
}

/** `compacted`: history before `oldest` is gone. `future`: not committed yet. */
export interface RevisionRefusal {
  readonly refused: 'compacted' | 'future'
  /** The oldest revision that can still be listed or watched from. */
  readonly oldest: number
  readonly newest: number
}

export interface Compare {
  readonly key: string
  /** The key's expected modRevision; 0: the key must be absent. */
  readonly modRevision: number
}

export type Operation =
  | { readonly op: 'put'; readonly key: string; readonly value: Buffer }
  | { readonly op: 'delete'; readonly key: string }

export interface Transaction {
  readonly compare: readonly Compare[]
  /** At most one operation per key. */
  readonly operations: readonly Operation[]
}

export type TxnResult =
  | { readonly committed: true; readonly revision: number }
  | {
      readonly committed: false
      readonly revision: number
      /** What each compared key holds now, in the order of `compare`. */
      readonly current: readonly (StoredEntry | undefined)[]
    }

export interface WatchQuery {
  readonly prefix: string
  /** Changes of later revisions only: pass the revision of a list. */
  readonly after: number
  /** Ends the watch. */
  readonly signal?: AbortSignal
}

export interface StoreEvent {
  readonly key: string
  readonly revision: number
  /** Undefined: the key was deleted. */
  readonly entry: StoredEntry | undefined
}

export type WatchBatch =
  | {
      readonly refused?: never
      readonly events: readonly StoreEvent[]
      /** The watch is complete up to this revision. */
      readonly revision: number
    }
  | RevisionRefusal
