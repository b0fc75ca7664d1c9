import type { IpvsSettings } from '../../../modes/ipvs/settings.ts'
import { netfilterSettings } from '../node/netfilter-settings.ts'
import type { Situation } from './mode-kind.ts'
import { nodeAddresses } from './node-addresses.ts'

const DEFAULT_SCHEDULER = 'rr'

/** What configuration, Node object, kernel and interfaces ask of the ipvs mode together. */
export function ipvsSettings(situation: Situation): IpvsSettings {
  const { config, node, facts } = situation
  const { ipvs } = config
  const { tcp, udp, sctp } = ipvs.gracefulTermination
  return {
    // Node ports on loopback are relayed by this process, so nothing has to be routed there.
    netfilter: { ...netfilterSettings(config, node, facts), dropMartians: facts.routesLocalnet },
    scheduler: schedulerOf(ipvs.scheduler),
    nodeAddresses: nodeAddresses(situation),
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
