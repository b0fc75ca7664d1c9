import type { Family } from '../../../lib/ip.ts'
import type { NetfilterConfiguration } from './configuration.ts'
import type { KernelFacts, NodeNetworks } from './mode-inputs.ts'
import { NO_ADDRESS, nodePortScope } from './node-port-scope.ts'
import type { LocalTraffic, NetfilterSettings } from './settings.ts'

/** The settings of the shared rules, from configuration, Node object and kernel. */
export function netfilterSettings(
  config: NetfilterConfiguration,
  node: NodeNetworks | undefined,
  { routesLocalnet, ...kernel }: KernelFacts,
): NetfilterSettings {
  const { iptables, nodePortAddresses, conntrack } = config
  return {
    ...kernel,
    masqueradeBit: iptables.masqueradeBit,
    masqueradeAll: iptables.masqueradeAll,
    localhostNodePorts: iptables.localhostNodePorts,
    dropMartians: iptables.localhostNodePorts || routesLocalnet,
    localTraffic: localTraffic(config, node),
    nodePortScope: nodePortScope(nodePortAddresses, node),
    dropInvalid: !conntrack.tcpBeLiberal,
  }
}

/** Cleaning up renders nothing, so all but the mark only have to be complete. */
export function cleanupSettings(
  { iptables }: Pick<NetfilterConfiguration, 'iptables'>,
  families: readonly Family[],
): NetfilterSettings {
  return {
    families,
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

/** NodeCIDR waits for the Node object; until it names pod networks nothing counts as a pod. */
export function localTraffic(
  config: NetfilterConfiguration,
  node: NodeNetworks | undefined,
): LocalTraffic {
  const { detectLocalMode, detectLocal, clusterCIDR } = config
  switch (detectLocalMode) {
    case '':
    case 'ClusterCIDR':
      return clusterCIDR.length === 0 ? { by: 'none' } : { by: 'source', cidrs: clusterCIDR }
    case 'NodeCIDR':
      return { by: 'source', cidrs: node?.podCIDRs ?? [] }
    case 'BridgeInterface':
      return { by: 'bridge', name: detectLocal.bridgeInterface }
    case 'InterfaceNamePrefix':
      return { by: 'interfacePrefix', prefix: detectLocal.interfaceNamePrefix }
  }
}
