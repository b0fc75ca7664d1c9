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
 * Objects and processes of other programs in this network namespace, found by name. The cost of a query does not
 * depend on the number of rules, devices and processes, unless documented otherwise. No query creates anything.
 * Objects that this process may not see count as absent.
 */
export interface Traces {
  /**
   * The iptables variants that hold a chain. For the legacy variant the table is copied (a millisecond for some
   * thousands of rules) if it changed since the last query.
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
