import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../kernel/netlink/transport.ts'
import { openNftables } from '../../../kernel/nftables/netlink-nftables.ts'
import { NftablesMonitor } from '../../../kernel/nftables/nftables-monitor.ts'
import { ObjectCollector } from '../../../kernel/nftables/object-collector.ts'
import type { Clock } from '../../../lib/clock.ts'
import { cleanUp } from '../kernel/managed-state.ts'
import { CHAIN, TABLE, tableOf } from '../keys/names.ts'
import type { NftablesRuntime } from './nftables-driver.ts'

/** Opens the mode for forwarding. */
export async function openRuntime(clock: Clock): Promise<NftablesRuntime> {
  const nftables = openNftables(clock)
  const collector = new ObjectCollector({ table: TABLE, exceptPort: nftables.port })
  const monitor = new NftablesMonitor(rawTransport(NETLINK_NETFILTER), { clock, collector })
  return { nftables, monitor }
}

/** Removes the tables of any earlier run; a kernel without nf_tables has none. */
export async function cleanUpTables(clock: Clock): Promise<void> {
  const nftables = openNftables(clock)
  try {
    await cleanUp(nftables)
  } finally {
    nftables.close()
  }
}

/** Whether the rule exists that drops foreign packets for 127.0.0.0/8: the only rule of its chain that drops. */
export async function guardsLoopback(clock: Clock): Promise<boolean> {
  const nftables = openNftables(clock)
  try {
    const content = await nftables.read(tableOf(4))
    const rules = content?.chains.get(CHAIN.filterInput)?.rules ?? []
    return rules.some(({ expressions }) =>
      expressions.some((one) => one.type === 'verdict' && one.verdict.kind === 'drop'),
    )
  } finally {
    nftables.close()
  }
}
