import type { Sets } from '../../../kernel/ipset/sets.ts'
import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import { NetlinkIpvs } from '../../../kernel/ipvs/netlink/netlink-ipvs.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { requestTransport } from '../../../kernel/netlink/request-transport.ts'
import {
  NETLINK_GENERIC,
  NETLINK_ROUTE,
  type OpenTransport,
} from '../../../kernel/netlink/transport.ts'
import { noopMonitor } from '../../../kernel/nftables-monitor/noop-monitor.ts'
import type { RuleMonitor } from '../../../kernel/nftables-monitor/rule-monitor.ts'
import { SocketRelays } from '../../../kernel/relay/socket-relays.ts'
import { NetlinkRoutes } from '../../../kernel/route/netlink-routes.ts'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family } from '../../../lib/ip.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import { openMonitor } from '../../netfilter/open-monitor.ts'
import { IpvsMode } from '../mode.ts'
import { OWNED_CHAINS } from '../objects/owned-chains.ts'
import type { IpvsSettings } from '../settings.ts'
import { hasIpvs } from './has-ipvs.ts'
import type { IpvsRuntime } from './ipvs-runtime.ts'
import { viewIpvs } from './view-ipvs.ts'

/** What the ipvs mode shares with the other modes of this process. */
export interface IpvsRuntimeOptions {
  readonly iptables: Iptables
  readonly sets: Sets
  readonly clock: Clock
  readonly families: readonly Family[]
}

/** Opens it to forward; each socket opens with the first request to it. */
export async function openIpvs({ families, ...base }: IpvsRuntimeOptions): Promise<IpvsRuntime> {
  const { iptables, clock } = base
  const monitor = await openMonitor(iptables, { clock, families, owned: OWNED_CHAINS })
  return runtime(base, monitor)
}

/** Opens it to be removed: without a monitor, and no kernel module is loaded to look. */
export function openIpvsForCleanup(base: Omit<IpvsRuntimeOptions, 'families'>): IpvsRuntime {
  return runtime(base, noopMonitor, hasIpvs() ? undefined : absentIpvs)
}

/** Opens it to read; no kernel module is loaded for it. */
export function openIpvsToRead(
  base: Omit<IpvsRuntimeOptions, 'families'>,
  settings: IpvsSettings,
): ModeView {
  const { clock } = base
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const ipvs = hasIpvs() ? new NetlinkIpvs(requestTransport(NETLINK_GENERIC), clock) : undefined
  return viewIpvs(settings, { ...base, ipvs, routes })
}

function runtime(
  { iptables, sets, clock }: Omit<IpvsRuntimeOptions, 'families'>,
  monitor: RuleMonitor,
  transport = requestTransport(NETLINK_GENERIC),
): IpvsRuntime {
  const ipvs = new NetlinkIpvs(transport, clock)
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const relays = new SocketRelays(clock)
  const kernel = { iptables, monitor, ipvs, sets, routes, relays, clock }
  return {
    hasRuleMonitor: monitor !== noopMonitor,
    build: (settings) => new IpvsMode(settings, kernel),
    async close() {
      await relays.closeAll()
      for (const part of [ipvs, routes]) part.close()
    },
  }
}

/** Every request to such a kernel throws this refusal. */
export const absentIpvs: OpenTransport = () => {
  throw new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'ip_vs is not loaded in this kernel')
}
