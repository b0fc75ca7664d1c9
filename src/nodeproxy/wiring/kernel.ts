import type { Addresses } from '../../kernel/addresses/addresses.ts'
import { NetlinkAddresses } from '../../kernel/addresses/netlink-addresses.ts'
import type { Conntrack } from '../../kernel/conntrack/conntrack.ts'
import { NetlinkConntrack } from '../../kernel/conntrack/netlink-conntrack.ts'
import { NetlinkSets } from '../../kernel/ipset/netlink-sets.ts'
import type { Sets } from '../../kernel/ipset/sets.ts'
import { openIptables } from '../../kernel/iptables/command-iptables.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Listeners } from '../../kernel/listener/listeners.ts'
import { ProcListeners } from '../../kernel/listener/proc-listeners.ts'
import type { KernelModules } from '../../kernel/modules/kernel-modules.ts'
import { ProcModules } from '../../kernel/modules/proc-modules.ts'
import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER, NETLINK_ROUTE } from '../../kernel/netlink/transport.ts'
import { authorship } from '../../kernel/nftables-monitor/authorship.ts'
import { deafMonitor } from '../../kernel/nftables-monitor/deaf-monitor.ts'
import { NftablesMonitor } from '../../kernel/nftables-monitor/nftables-monitor.ts'
import type { RuleMonitor } from '../../kernel/nftables-monitor/rule-monitor.ts'
import { Spawner } from '../../kernel/spawner/spawner.ts'
import { ProcSysctl } from '../../kernel/sysctl/proc-sysctl.ts'
import type { Sysctl } from '../../kernel/sysctl/sysctl.ts'
import { openXtables } from '../../kernel/xtables-watch/ffi-xtables.ts'
import { XtablesMonitor } from '../../kernel/xtables-watch/xtables-monitor.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import { TERRITORY } from '../../modes/iptables/names.ts'
import { concerns } from '../../modes/netfilter/chains/foreign-change.ts'
import type { Territory } from '../../modes/netfilter/chains/keeper-options.ts'
import type { IptablesBackend } from '../config/configuration.ts'

/** Every way in which the daemon touches this kernel; what only one mode needs, that mode opens. */
export interface Kernel {
  readonly iptables: Iptables
  readonly families: readonly Family[]
  readonly sets: Sets
  readonly conntrack: Conntrack
  /** Hears changes of the iptables mode's chains. */
  readonly monitor: RuleMonitor
  readonly sysctl: Sysctl
  readonly addresses: Addresses
  readonly listeners: Listeners
  readonly modules: KernelModules
  close(): Promise<void>
}

/** Opens the real kernel of this network namespace. */
export async function openKernel(clock: Clock, backend: IptablesBackend): Promise<Kernel> {
  const runner = new Spawner()
  try {
    const iptables = await openIptables({ runner, backend: backend === '' ? undefined : backend })
    const netfilter = rawTransport(NETLINK_NETFILTER)
    const conntrack = new NetlinkConntrack(netfilter, clock)
    const sets = new NetlinkSets(netfilter, clock)
    const families = await workingFamilies(iptables)
    return {
      iptables,
      families,
      sets,
      conntrack,
      monitor: await openMonitor(iptables, { clock, families, territory: TERRITORY }),
      sysctl: new ProcSysctl(),
      addresses: new NetlinkAddresses(rawTransport(NETLINK_ROUTE), clock),
      listeners: new ProcListeners(),
      modules: new ProcModules(runner),
      async close() {
        conntrack.close()
        sets.close()
        await runner.close()
      },
    }
  } catch (error) {
    await runner.close()
    throw error
  }
}

/** IPv4, and IPv6 where this kernel has it; a lock that somebody holds says nothing. */
async function workingFamilies(iptables: Iptables): Promise<readonly Family[]> {
  const six = await iptables.restore(6, '*nat\nCOMMIT\n*filter\nCOMMIT\n')
  const busy = !six.ok && (six.kind === 'locked' || six.kind === 'timeout')
  return six.ok || busy ? [4, 6] : [4]
}

export interface MonitorOptions {
  readonly clock: Clock
  readonly families: readonly Family[]
  /** Whose changes are of interest. */
  readonly territory: Territory
}

/** Hears who else changes chains; deaf where nothing can be heard. */
export async function openMonitor(
  { backend }: Iptables,
  { clock, families, territory }: MonitorOptions,
): Promise<RuleMonitor> {
  if (backend === 'nft') {
    return new NftablesMonitor(rawTransport(NETLINK_NETFILTER), {
      clock,
      concerns: (touched) => concerns(territory, touched),
      authorship: authorship(),
    })
  }
  const xtables = await openXtables()
  const tables = families.flatMap((family) => territory.tables.map((table) => ({ family, table })))
  return xtables ? new XtablesMonitor(xtables, { clock, tables }) : deafMonitor
}
