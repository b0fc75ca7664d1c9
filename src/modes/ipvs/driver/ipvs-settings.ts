import { networkDifference } from '../../../lib/ip-range.ts'
import type { ModeInputs } from '../../netfilter/settings/mode-inputs.ts'
import { netfilterSettings } from '../../netfilter/settings/netfilter-settings.ts'
import { nodeAddresses } from '../../netfilter/settings/node-addresses.ts'
import type { IpvsSettings } from '../settings.ts'
import type { IpvsConfiguration } from './configuration.ts'

const DEFAULT_SCHEDULER = 'rr'

/** The settings of the ipvs mode, from configuration, Node object, kernel and interfaces. */
export function ipvsSettings(inputs: ModeInputs<IpvsConfiguration>): IpvsSettings {
  const { config, facts } = inputs
  const { ipvs } = config
  const common = netfilterSettings(inputs)
  const { tcp, udp, sctp } = ipvs.gracefulTermination
  return {
    netfilter: {
      ...common,
      // Node ports on loopback are relayed by this process, so nothing has to be routed there.
      dropMartians: facts.routesLocalnet,
      ...(common.serviceRanges && {
        serviceRanges: networkDifference(common.serviceRanges, ipvs.excludeCIDRs),
      }),
    },
    scheduler: schedulerOf(ipvs.scheduler),
    nodeAddresses: nodeAddresses(inputs),
    excludeCIDRs: ipvs.excludeCIDRs,
    timeouts: {
      tcp: seconds(ipvs.tcpTimeout),
      tcpFin: seconds(ipvs.tcpFinTimeout),
      udp: seconds(ipvs.udpTimeout),
    },
    drain: { tcp: seconds(tcp), udp: seconds(udp), sctp: seconds(sctp) },
  }
}

/** The scheduler of Services that name none. */
export function schedulerOf(configured: string): string {
  return configured === '' ? DEFAULT_SCHEDULER : configured
}

/** Milliseconds as the kernel's whole seconds, rounded up so that none becomes 0. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1_000)
}
