import type { Sets } from '../../../kernel/ipset/sets.ts'
import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import { NetlinkIpvs } from '../../../kernel/ipvs/netlink-ipvs.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { requestTransport } from '../../../kernel/netlink/request-transport.ts'
import {
  NETLINK_GENERIC,
  NETLINK_ROUTE,
  type OpenTransport,
} from '../../../kernel/netlink/transport.ts'
import { deafMonitor } from '../../../kernel/nftables-monitor/deaf-monitor.ts'
import type { RuleMonitor } from '../../../kernel/nftables-monitor/rule-monitor.ts'
import { SocketRelays } from '../../../kernel/relay/socket-relays.ts'
import { NetlinkRoutes } from '../../../kernel/route/netlink-routes.ts'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family } from '../../../lib/ip.ts'
import { IpvsMode } from '../../../modes/ipvs/mode.ts'
import { TERRITORY } from '../../../modes/ipvs/territory.ts'
import { openMonitor } from '../kernel/open-monitor.ts'
import type { Ground } from './ground.ts'
import { hasIpvs } from './has-ipvs.ts'

export interface IpvsGroundOptions {
  readonly iptables: Iptables
  readonly sets: Sets
  readonly clock: Clock
  readonly families: readonly Family[]
}

/** Opens it to work; sockets open with the first question to each. */
export async function openIpvs({ families, ...base }: IpvsGroundOptions): Promise<Ground> {
  const { iptables, clock } = base
  const monitor = await openMonitor(iptables, { clock, families, territory: TERRITORY })
  return ground(base, monitor)
}

/** Opens it to be removed: nobody listens for changes, and no kernel module is loaded to look. */
export function openIpvsDeaf(base: Omit<IpvsGroundOptions, 'families'>): Ground {
  return ground(base, deafMonitor, hasIpvs() ? undefined : absentIpvs)
}

function ground(
  { iptables, sets, clock }: Omit<IpvsGroundOptions, 'families'>,
  monitor: RuleMonitor,
  transport = requestTransport(NETLINK_GENERIC),
): Ground {
  const ipvs = new NetlinkIpvs(transport, clock)
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const relays = new SocketRelays(clock)
  const kernel = { iptables, monitor, ipvs, sets, routes, relays, clock }
  return {
    hears: monitor !== deafMonitor,
    build: (settings) => new IpvsMode(settings, kernel),
    async close() {
      await relays.closeAll()
      for (const part of [ipvs, routes]) part.close()
    },
  }
}

/** Every question to such a kernel is answered by this refusal. */
export const absentIpvs: OpenTransport = () => {
  throw new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'ip_vs is not at work in this kernel')
}
