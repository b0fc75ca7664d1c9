import type { Iptables } from '../../kernel/iptables/iptables.ts'
import { openXtables } from '../../kernel/iptables/xtables.ts'
import { XtablesMonitor } from '../../kernel/iptables/xtables-monitor.ts'
import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../kernel/netlink/transport.ts'
import { authorship, ChainCollector } from '../../kernel/nftables/generation-collector.ts'
import { NftablesMonitor, noopMonitor } from '../../kernel/nftables/nftables-monitor.ts'
import type { RuleMonitor } from '../../kernel/rule-monitor.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import { concerns } from './chains/foreign-change.ts'
import type { OwnedChains } from './chains/keeper-options.ts'

/** Which changes are watched for. */
export interface MonitorOptions {
  readonly clock: Clock
  readonly families: readonly Family[]
  /** The chains whose changes are reported. */
  readonly owned: OwnedChains
}

/** Watches for changes to chains by other processes; does nothing where the kernel reports no changes. */
export async function openMonitor(
  { backend }: Iptables,
  { clock, families, owned }: MonitorOptions,
): Promise<RuleMonitor> {
  if (backend === 'nft') {
    return new NftablesMonitor(rawTransport(NETLINK_NETFILTER), {
      clock,
      collector: new ChainCollector(),
      concerns: (touched) => concerns(owned, touched),
      authorship: authorship(),
    })
  }
  const xtables = await openXtables()
  const tables = families.flatMap((family) => owned.tables.map((table) => ({ family, table })))
  return xtables ? new XtablesMonitor(xtables, { clock, tables }) : noopMonitor
}
