import type { Family } from '../../lib/ip.ts'

/** The variant of iptables: `nft` writes nf_tables, `legacy` the tables of xtables. */
export type IptablesVariant = 'nft' | 'legacy'

/** The tables that are read and written. */
export type TableName = 'nat' | 'filter' | 'mangle' | 'raw'

/** A chain as `iptables-save` prints it. */
export interface SavedChain {
  /** The policy of a built-in chain, `ACCEPT` or `DROP`; undefined for a user-defined one. */
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
  /** Whether the result contains the rules of a chain; by default those of every chain. Other rules take no memory. */
  readonly keep?: (chain: string) => boolean
}

/**
 * `refused`: this kernel or this iptables does not accept a line; `locked`: another process holds the xtables lock;
 * `timeout`: it took too long and was stopped, so its effect is unknown; `missing`: the program or the table does not
 * exist.
 */
export type RestoreFailureKind = 'refused' | 'locked' | 'timeout' | 'missing'

/** `commits`: the number of COMMIT lines of the text that took effect, in their order. */
export type RestoreResult =
  | { readonly ok: true; readonly commits: number; readonly pid: number }
  | {
      readonly ok: false
      readonly kind: RestoreFailureKind
      /** One line, without control characters, at most 300 characters. */
      readonly message: string
      /**
       * 1-based line of the text at which it failed, if iptables reports it. For a jump to a missing chain the nft
       * variant reports the line of the COMMIT, and `message` names that chain.
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
 * iptables of both families. Reading throws NP_KERNEL_IPTABLES; a refused restore is a value. A refused COMMIT has no
 * effect at all.
 */
export interface Iptables {
  readonly backend: IptablesVariant
  /** Version of the program: `1.8.9`. */
  readonly version: string
  /** The chains of a table, by name. */
  save(family: Family, table: TableName, options?: SaveOptions): Promise<SavedTable>
  /** Calls back with each rule of a table that counted a packet since it was written. */
  counters(family: Family, table: TableName, visit: (counted: CountedRule) => void): Promise<void>
  /** The rules of one chain; undefined if the chain does not exist. */
  listChain(family: Family, table: TableName, chain: string): Promise<readonly string[] | undefined>
  /** `iptables-restore --noflush`: `:CHAIN - [0:0]` empties or creates a user-defined chain. */
  restore(family: Family, text: string | Iterable<string>): Promise<RestoreResult>
}

/** The same tables; a restore is accepted, and changes nothing. */
export function readOnlyIptables(iptables: Iptables): Iptables {
  const { backend, version } = iptables
  return {
    backend,
    version,
    save: (family, table, options) => iptables.save(family, table, options),
    counters: (family, table, visit) => iptables.counters(family, table, visit),
    listChain: (family, table, chain) => iptables.listChain(family, table, chain),
    restore: async () => ({ ok: true, commits: 0, pid: 0 }),
  }
}
