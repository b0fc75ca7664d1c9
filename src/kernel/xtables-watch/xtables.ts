import type { Family } from '../../lib/ip.ts'

/** Number and size of the rules of a table. */
export interface TableInfo {
  readonly entries: number
  /** Bytes of all entries. */
  readonly size: number
}

/** Read access to the tables of the legacy iptables variant (getsockopt of linux/netfilter_ipv4/ip_tables.h). */
export interface Xtables {
  /** Costs microseconds; undefined when the kernel has no such table. */
  info(family: Family, table: string): TableInfo | undefined
  /** Digest of all rules, counters left out; costs about 2 µs a rule, most of it in one call. */
  digest(family: Family, table: string): Promise<string | undefined>
  /** Whether any iptables program took the xtables lock since the last call. */
  lockTaken(): boolean
  close(): void
}
