import type { Family } from '../../lib/ip.ts'
import type { IptablesVariant, TableName } from '../iptables/iptables.ts'

/** A chain of the iptables of one family. */
export interface ChainId {
  readonly family: Family
  readonly table: TableName
  readonly chain: string
}

/** A process of this network namespace. */
export interface FoundProcess {
  readonly name: string
  readonly pid: number
}

/**
 * What other programs have in this network namespace, by its name. Every query costs the same
 * however many rules, devices and processes there are, unless documented otherwise. No query creates
 * anything. What this process may not see counts as absent.
 */
export interface Traces {
  /**
   * The iptables variants that hold a chain. The legacy one costs a copy of the table (a
   * millisecond for some thousands of rules) when that changed since the last query.
   */
  variantsWith(place: ChainId): Promise<readonly IptablesVariant[]>
  /** Whether nftables has a table of this name in the family `ip` or `ip6`. */
  hasNftTable(family: Family, name: string): Promise<boolean>
  /** All network devices; linear in their number. */
  devices(): Promise<ReadonlySet<string>>
  /** Processes with one of these names; linear in the number of processes. */
  processes(names: readonly string[]): Promise<readonly FoundProcess[]>
  close(): void
}
