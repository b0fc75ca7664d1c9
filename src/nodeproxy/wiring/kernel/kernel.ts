import { existsSync } from 'node:fs'
import type { Addresses } from '../../../kernel/addresses.ts'
import type { Conntrack } from '../../../kernel/conntrack/conntrack.ts'
import type { Listeners } from '../../../kernel/listeners.ts'
import type { Sysctl } from '../../../kernel/sysctl.ts'
import type { Traces } from '../../../kernel/traces.ts'
import type { Family } from '../../../lib/ip.ts'
import type { NetfilterAccess, RulesAccess } from '../../../modes/netfilter/access.ts'

/** The interfaces to the kernel that the daemon uses itself; a mode opens those that only it needs. */
export interface Kernel {
  /** Whether this process may write to the kernel at all. */
  readonly rights: RulesAccess
  /** Whether it can do so by iptables. */
  readonly netfilter: NetfilterAccess
  readonly families: readonly Family[]
  readonly conntrack: Conntrack
  readonly sysctl: Sysctl
  readonly addresses: Addresses
  readonly listeners: Listeners
  readonly traces: Traces
  /** Closes sockets and ends helper processes; rules stay. */
  close(): Promise<void>
}

/** IPv4, and IPv6 if this kernel has it. */
export function presentFamilies(): readonly Family[] {
  return existsSync('/proc/net/if_inet6') ? [4, 6] : [4]
}
