import type { Family } from '../../../lib/ip.ts'
import type { IpvsSettings } from '../../../modes/ipvs/settings.ts'
import { NO_ADDRESS } from '../../../modes/netfilter/node-port-scope.ts'
import type { NetfilterSettings } from '../../../modes/netfilter/settings.ts'
import type { UserspaceSettings } from '../../../modes/userspace/settings.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'

/** Cleaning up renders nothing, so all but the mark only have to be complete. */
export function cleanupSettings({
  iptables,
}: Pick<NodeProxyConfiguration, 'iptables'>): Omit<NetfilterSettings, 'families'> {
  return {
    masqueradeBit: iptables.masqueradeBit,
    masqueradeAll: false,
    localTraffic: { by: 'none' },
    nodePortScope: NO_ADDRESS,
    localhostNodePorts: false,
    dropMartians: false,
    dropInvalid: true,
    hairpin: 'rules',
    randomFully: false,
  }
}

export function ipvsCleanupSettings(
  config: Pick<NodeProxyConfiguration, 'iptables'>,
  families: readonly Family[],
): IpvsSettings {
  return {
    netfilter: { ...cleanupSettings(config), families },
    scheduler: 'rr',
    nodeAddresses: [],
    excludeCIDRs: [],
    timeouts: { tcp: 0, tcpFin: 0, udp: 0 },
    drain: { tcp: 0, udp: 0, sctp: 0 },
  }
}

export function userspaceCleanupSettings(
  config: Pick<NodeProxyConfiguration, 'iptables'>,
  families: readonly Family[],
): UserspaceSettings {
  const netfilter = { ...cleanupSettings(config), families }
  return {
    entrance: { kind: 'transparent', netfilter, nodeAddresses: [] },
    balancing: 'rr',
  }
}
