import { existsSync } from 'node:fs'
import { type Addresses, NetlinkAddresses } from '../../kernel/addresses.ts'
import { type Conntrack, noopConntrack } from '../../kernel/conntrack/conntrack.ts'
import { type Listeners, ProcListeners } from '../../kernel/listeners.ts'
import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_ROUTE } from '../../kernel/netlink/transport.ts'
import { noopSysctl, type Sysctl } from '../../kernel/sysctl.ts'
import { noopTraces, type Traces } from '../../kernel/traces.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import type { MissingRequirement } from '../../modes/mode.ts'
import type { NetfilterAccess, RulesAccess } from '../../modes/netfilter/access.ts'
import type { Logger } from '../../telemetry/logger.ts'

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

/** The kernel for a process without the right to write rules: it is only read, and no program is started. */
export function openKernelWithoutRules(clock: Clock, missing: MissingRequirement): Kernel {
  return {
    rights: { ok: false, missing },
    netfilter: { ok: false, missing },
    families: presentFamilies(),
    conntrack: noopConntrack,
    sysctl: noopSysctl,
    addresses: new NetlinkAddresses(rawTransport(NETLINK_ROUTE), clock),
    listeners: new ProcListeners(),
    traces: noopTraces,
    close: async () => {},
  }
}

const NOT_DONE = ['rules and IP sets', 'kernel settings (conntrack.*)', 'cutting stale flows']

/** Logs once which features are missing without rules, and why. */
export function logMissingFeatures({ rights }: Pick<Kernel, 'rights'>, log: Logger): void {
  if (rights.ok) return
  const { code, what, remedy } = rights.missing
  log.warn({ code, remedy, notDone: NOT_DONE }, `no rules are written: ${what}`)
}
