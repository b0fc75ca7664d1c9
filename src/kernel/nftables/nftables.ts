import type { ChainSpec, Command, Element, Rule, SetSpec, Table } from './objects.ts'

/** Why the kernel rejected a transaction. */
export interface TransactionError {
  /** The first command that was refused, by its index; undefined: the transaction as a whole. */
  readonly command: number | undefined
  readonly errno: number
  /** One line, with the kernel's own words where it has any. */
  readonly message: string
}

/** All of a table but the elements of its sets. */
export interface TableContent {
  readonly chains: ReadonlyMap<string, ChainContent>
  readonly sets: ReadonlyMap<string, SetSpec>
}

export interface ChainContent {
  readonly spec: ChainSpec
  readonly rules: readonly Rule[]
}

/** The nf_tables of the network namespace in which it was opened. */
export interface Nftables {
  /** Transactions of this socket that took effect. */
  readonly commits: number
  /**
   * Applies all commands in their order, or none: no packet meets a part of them. With `generation`, it is
   * refused (ERESTART) where anything was changed since that generation. Undefined: done.
   */
  commit(commands: readonly Command[], generation?: number): Promise<TransactionError | undefined>
  /** The number of the last change of any table. */
  generation(): Promise<number>
  /** Undefined: there is no such table. */
  read(table: Table): Promise<TableContent | undefined>
  /**
   * Every element, in no order; empty where there is no such set. Where the set changes meanwhile, some may be passed
   * twice, or not.
   */
  elements(table: Table, set: string, visit: (element: Element) => void): Promise<void>
  /** Those of the elements that are there, until the first that is not. */
  lookup(table: Table, set: string, keys: readonly Buffer[]): Promise<readonly Element[]>
  close(): void
}
