import type { ChainSpec, Command, Element, Rule, SetSpec, Table } from './objects.ts'

/** Why the kernel rejected a transaction. */
export interface TransactionError {
  /** The index of the first refused command; undefined if the transaction as a whole was refused. */
  readonly command: number | undefined
  readonly errno: number
  /** One line, with the kernel's own error text if there is one. */
  readonly message: string
}

/** The content of a table except the elements of its sets. */
export interface TableContent {
  readonly chains: ReadonlyMap<string, ChainContent>
  readonly sets: ReadonlyMap<string, SetSpec>
}

export interface ChainContent {
  readonly spec: ChainSpec
  readonly rules: readonly Rule[]
}

/** The nf_tables of the network namespace in which this object was opened. */
export interface Nftables {
  /** The number of transactions of this socket that took effect. */
  readonly commits: number
  /**
   * Applies all commands in their order, or none: no packet meets a part of them. With `generation`, the transaction
   * is refused (ERESTART) if anything has changed since that generation. Returns undefined on success.
   */
  commit(commands: readonly Command[], generation?: number): Promise<TransactionError | undefined>
  /** The number of the last change of any table. */
  generation(): Promise<number>
  /** Undefined if the table does not exist. */
  read(table: Table): Promise<TableContent | undefined>
  /**
   * Visits every element, in no order; none if the set does not exist. If the set changes meanwhile, some elements may
   * be visited twice, or not at all.
   */
  elements(table: Table, set: string, visit: (element: Element) => void): Promise<void>
  /** The packets that rules with a counter have counted, by chain; empty if the table does not exist. */
  counters(table: Table): Promise<ReadonlyMap<string, bigint>>
  /** The elements with these keys, up to the first key that does not exist. */
  lookup(table: Table, set: string, keys: readonly Buffer[]): Promise<readonly Element[]>
  close(): void
}

/** The same tables; a transaction is accepted, and changes nothing. */
export function readOnlyNftables(nftables: Nftables): Nftables {
  return {
    commits: 0,
    commit: async () => undefined,
    generation: () => nftables.generation(),
    read: (table) => nftables.read(table),
    elements: (table, set, visit) => nftables.elements(table, set, visit),
    counters: (table) => nftables.counters(table),
    lookup: (table, set, keys) => nftables.lookup(table, set, keys),
    close: () => nftables.close(),
  }
}
