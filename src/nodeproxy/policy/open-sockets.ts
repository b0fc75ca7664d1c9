import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../kernel/netlink/transport.ts'
import { openNftables } from '../../kernel/nftables/netlink-nftables.ts'
import { NftablesMonitor } from '../../kernel/nftables/nftables-monitor.ts'
import { ObjectCollector } from '../../kernel/nftables/object-collector.ts'
import type { Clock } from '../../lib/clock.ts'
import { cleanUp } from '../../policy/nftables/family-writer.ts'
import { TABLE } from '../../policy/nftables/render.ts'
import type { PolicySockets } from './network-policies.ts'

/** Opens the sockets with which NetworkPolicies are enforced in this network namespace. */
export function openPolicySockets(clock: Clock): PolicySockets {
  const nftables = openNftables(clock)
  const collector = new ObjectCollector({ table: TABLE, exceptPort: nftables.port })
  const monitor = new NftablesMonitor(rawTransport(NETLINK_NETFILTER), { clock, collector })
  return { nftables, monitor }
}

/** Removes the tables of any earlier run; a kernel without nf_tables has none. Throws NP_POLICY_REFUSED if one stays. */
export async function removePolicies(clock: Clock): Promise<void> {
  const nftables = openNftables(clock)
  try {
    const hasTables = await nftables.generation().catch(() => undefined)
    if (hasTables !== undefined) await cleanUp(nftables)
  } finally {
    nftables.close()
  }
}
