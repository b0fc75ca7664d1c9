import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../kernel/netlink/transport.ts'
import { openNftables } from '../../kernel/nftables/netlink-nftables.ts'
import type { Nftables } from '../../kernel/nftables/nftables.ts'
import { NftablesMonitor } from '../../kernel/nftables/nftables-monitor.ts'
import { ObjectCollector, type TouchedObject } from '../../kernel/nftables/object-collector.ts'
import type { RuleMonitor } from '../../kernel/nftables/rule-monitor.ts'
import { netlinkPacketLog } from '../../kernel/packet-log/netlink-packet-log.ts'
import type { OpenPacketLog } from '../../kernel/packet-log/packet-log.ts'
import type { Clock } from '../../lib/clock.ts'
import { LOG_GROUP } from '../../policy/nftables/chain-rules.ts'
import { cleanUp } from '../../policy/nftables/family-writer.ts'
import { TABLE } from '../../policy/nftables/render.ts'

/** The sockets to nf_tables. */
export interface PolicySockets {
  /** Writes the tables, which belong to this socket while it is open. */
  readonly nftables: Nftables
  readonly monitor: RuleMonitor<TouchedObject>
  /** Reads the packets that the rules log. */
  readonly openPacketLog: OpenPacketLog
}

/** Opens the sockets with which NetworkPolicies are enforced in this network namespace. */
export function openPolicySockets(clock: Clock): PolicySockets {
  const nftables = openNftables(clock)
  const collector = new ObjectCollector({ table: TABLE, exceptPort: nftables.port })
  const monitor = new NftablesMonitor(rawTransport(NETLINK_NETFILTER), { clock, collector })
  const openPacketLog = netlinkPacketLog(rawTransport(NETLINK_NETFILTER), clock, LOG_GROUP)
  return { nftables, monitor, openPacketLog }
}

/** Removes the tables of this and of earlier runs; a kernel without nf_tables has none. @throws NP_POLICY_REFUSED if one stays */
export async function removePolicyTables(nftables: Nftables): Promise<void> {
  const generation = await nftables.generation().catch(() => undefined)
  if (generation !== undefined) await cleanUp(nftables)
}

/** The same with a socket of its own, for `--cleanup`. */
export async function cleanUpPolicies(clock: Clock): Promise<void> {
  const nftables = openNftables(clock)
  try {
    await removePolicyTables(nftables)
  } finally {
    nftables.close()
  }
}
