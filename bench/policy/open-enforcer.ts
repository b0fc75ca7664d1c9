import { NetlinkConntrack } from '../../src/kernel/conntrack/netlink-conntrack.ts'
import { rawTransport } from '../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openPolicySockets } from '../../src/nodeproxy/kernel/policy-tables.ts'
import { PolicyEnforcer } from '../../src/policy/nftables/enforcer.ts'
import type { RenderSettings } from '../../src/policy/nftables/render.ts'
import type { PolicyEvent } from '../../src/policy/policy-content.ts'
import { PolicyModel } from '../../src/policy/policy-model.ts'
import { NODE } from './events.ts'

/**
 * An enforcer of this network namespace, with an empty model; whatever fails ends the process. `onWritten` gets the number
 * of transactions of a run.
 */
export function openEnforcer(
  settings: RenderSettings,
  onWritten: (transactions: number) => void = () => undefined,
): PolicyEnforcer<PolicyEvent> {
  const transport = rawTransport(NETLINK_NETFILTER)
  const rethrow = (error: unknown) => {
    throw error
  }
  return new PolicyEnforcer<PolicyEvent>({
    ...openPolicySockets(systemClock),
    model: new PolicyModel({ nodeName: NODE }),
    conntrack: new NetlinkConntrack(transport, systemClock),
    clock: systemClock,
    wallClock: systemClock,
    families: [4, 6],
    settings: { ...settings, establishedConnections: 'cut' },
    observer: {
      applied: ({ refused, transactions }) => {
        if (refused.size > 0) throw new Error(`refused: ${[...refused.keys()].join(', ')}`)
        onWritten(transactions)
      },
      drifted: (names) => rethrow(new Error(`others changed ${names.join(', ')}`)),
      failed: rethrow,
      flowsCut: () => undefined,
      flowsFailed: rethrow,
    },
    isNodeAddress: () => false,
  })
}
