import type { Family } from '../../../lib/ip.ts'
import type { LocalTraffic, NetfilterSettings } from '../../../modes/netfilter/settings.ts'
import type { Node } from '../../../resources/types.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import { nodePortScope } from './node-port-scope.ts'

/** What was found out about this kernel. */
export interface KernelFacts {
  readonly families: readonly Family[]
  readonly hairpin: NetfilterSettings['hairpin']
  readonly randomFully: boolean
  readonly matchesSockets?: boolean
  /** net.ipv4.conf.all.route_localnet is 1, whoever set it. */
  readonly routesLocalnet: boolean
}

/** The scaffolding that configuration, Node object and kernel ask for together. */
export function netfilterSettings(
  config: NodeProxyConfiguration,
  node: Node | undefined,
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

/** NodeCIDR waits for the Node object; until it names pod networks nothing counts as a pod. */
function localTraffic(config: NodeProxyConfiguration, node: Node | undefined): LocalTraffic {
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
