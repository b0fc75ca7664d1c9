import type { Family } from '../../lib/ip.ts'

/** Number and size of the rules of a table. */
export interface TableInfo {
  readonly entries: number
  /** Bytes of all entries. */
  readonly size: number
}

/** Read access to the tables of the legacy iptables variant (getsockopt of linux/netfilter_ipv4/ip_tables.h). */
export interface Xtables {
  /** Takes microseconds; undefined if the kernel has no such table. */
  info(family: Family, table: string): TableInfo | undefined
  /** Digest of all rules without counters; takes about 2 µs for each rule, most of it in one system call. */
  digest(family: Family, table: string): Promise<string | undefined>
  /** Whether any iptables program took the xtables lock since the last call. */
  lockTaken(): boolean
  close(): void
}
