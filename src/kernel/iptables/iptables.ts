import type { Family } from '../../lib/ip.ts'

/** The variant of iptables: `nft` writes nf_tables, `legacy` the tables of xtables. */
export type IptablesVariant = 'nft' | 'legacy'

/** The tables that are read and written. */
export type TableName = 'nat' | 'filter' | 'mangle' | 'raw'

/** A chain as `iptables-save` prints it. */
export interface SavedChain {
  /** `ACCEPT` or `DROP` of a built-in chain; undefined for a user-defined one. */
  readonly policy: string | undefined
  /** In order, as iptables-save prints them, without `-A CHAIN ` and counters. */
  readonly rules: readonly string[]
}

/** A table as `iptables-save` prints it. */
export interface SavedTable {
  readonly chains: ReadonlyMap<string, SavedChain>
}

/** See `Iptables.save`. */
export interface SaveOptions {
  /** Whether the result has the rules of a chain; by default of every chain. Others need no memory. */
  readonly keep?: (chain: string) => boolean
}

/**
 * `refused`: a line that this kernel or this iptables does not take; `locked`:
 * another process holds the xtables lock; `timeout`: it took too long and was stopped,
 * so what it did is unknown; `missing`: the program or the table is not there.
 */
export type RestoreFailureKind = 'refused' | 'locked' | 'timeout' | 'missing'

/** `commits`: how many COMMIT lines of the text took effect, in its order. */
export type RestoreResult =
  | { readonly ok: true; readonly commits: number; readonly pid: number }
  | {
      readonly ok: false
      readonly kind: RestoreFailureKind
      /** One line, without control characters, at most 300 characters. */
      readonly message: string
      /**
       * 1-based line of the text at which it failed, when iptables reports it. The nft variant
       * names the COMMIT for a jump to a missing chain, with that chain in `message`.
       */
      readonly line?: number
      /** Unknown without a line; a COMMIT at `line` itself did not take effect. */
      readonly commits: number | undefined
      readonly pid: number
    }

/** A rule that counted packets; `rule` as in `SavedChain.rules`. */
export interface CountedRule {
  readonly chain: string
  readonly rule: string
  readonly packets: number
}

/**
 * iptables of both families. Reading throws NP_KERNEL_IPTABLES; a refused
 * restore is a value. Nothing of a refused COMMIT takes effect.
 */
export interface Iptables {
  readonly backend: IptablesVariant
  /** Version of the program: `1.8.9`. */
  readonly version: string
  /** The chains of a table, by name. */
  save(family: Family, table: TableName, options?: SaveOptions): Promise<SavedTable>
  /** Calls back with each rule of a table that counted a packet since it was written. */
  counters(family: Family, table: TableName, visit: (counted: CountedRule) => void): Promise<void>
  /** The rules of one chain, or undefined when it does not exist. */
  listChain(family: Family, table: TableName, chain: string): Promise<readonly string[] | undefined>
  /** `iptables-restore --noflush`: `:CHAIN - [0:0]` empties or creates a user-defined chain. */
  restore(family: Family, text: string | Iterable<string>): Promise<RestoreResult>
}
