import { type Cidr, cidrContains, type Family, familyOf, type IpAddress } from '../../../lib/ip.ts'
import { isWithin, networkDifference } from '../../../lib/ip-range.ts'
import { isSpecialAddress } from '../../../lib/special-address.ts'
import type { NetfilterConfiguration } from './configuration.ts'
import { isInScope, NO_ADDRESS, nodePortScope } from './node-port-scope.ts'
import type { LocalTraffic, ModeInputs, NetfilterSettings, NodeNetworks } from './settings.ts'

/**
 * The settings of the shared rules, from configuration, Node object and kernel. By default a masqueraded connection keeps
 * its client's port: a port chosen at random is often one for which the endpoint still holds the TIME_WAIT of another
 * connection (docs/operate/masquerade.md). Only a kernel that searches for a free port in order needs random ones.
 */
export function netfilterSettings({
  facts: { routesLocalnet, searchesPortsInOrder, ...kernel },
  ...inputs
}: Omit<ModeInputs, 'localAddresses'>): NetfilterSettings {
  const { config, node } = inputs
  const { iptables, nodePortAddresses, conntrack } = config
  const { refused } = serviceRanges(inputs)
  const wantsRandom = { auto: searchesPortsInOrder === true, keep: false, random: true }
  return {
    ...kernel,
    randomFully: kernel.randomFully && wantsRandom[iptables.masqueradePorts],
    masqueradeBit: iptables.masqueradeBit,
    masqueradeAll: iptables.masqueradeAll,
    localhostNodePorts: iptables.localhostNodePorts,
    dropMartians: iptables.localhostNodePorts || routesLocalnet,
    localTraffic: localTraffic(config, node),
    nodePortScope: nodePortScope(nodePortAddresses, node),
    dropInvalid: !conntrack.tcpBeLiberal,
    ...(refused.length > 0 && { serviceRanges: refused }),
  }
}

/** Settings for a cleanup, which renders no rules: only the families and the mark matter, the other fields are placeholders. */
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

/** How packets from Pods are recognised. With NodeCIDR none are, until the Node object names pod networks. */
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

/** The addresses of this node that serve node ports; loopback and link-local ones never do. */
export function nodeAddresses({
  config,
  node,
  facts,
  localAddresses,
}: ModeInputs): readonly IpAddress[] {
  const scope = nodePortScope(config.nodePortAddresses, node)
  const candidates = localAddresses.filter((ip) => facts.families.includes(familyOf(ip)))
  return candidates.filter((ip) => !isSpecialAddress(ip) && isInScope(scope, ip))
}

interface ServiceRangeInputs extends Pick<ModeInputs, 'node' | 'serviceCIDRs'> {
  readonly config: Pick<NetfilterConfiguration, 'serviceCIDRs' | 'clusterCIDR'>
}

/** The Service ranges: those whose unused addresses are refused, and those that are left alone. */
interface ServiceRanges {
  /** Without `ofNode` and the networks of Pods, as networks that do not overlap. */
  readonly refused: readonly Cidr[]
  /** Ranges that contain an address of this node, or every address: nothing in them is refused. */
  readonly ofNode: readonly Cidr[]
  /** Ranges that contain, or are contained in, the network of Pods: addresses of Pods are not refused. */
  readonly ofPods: readonly Cidr[]
}

/**
 * The ranges of the configuration, or else of the API server. A cluster whose Service range overlaps that of its nodes
 * or Pods works as long as no address is used twice; refusing unused addresses must not break it.
 */
export function serviceRanges({ config, node, serviceCIDRs }: ServiceRangeInputs): ServiceRanges {
  const configured = config.serviceCIDRs
  if (configured === 'none') return { refused: [], ofNode: [], ofPods: [] }
  const ranges = configured.length > 0 ? configured : (serviceCIDRs ?? [])
  const ofNode = ranges.filter(
    (one) => one.endsWith('/0') || node?.addresses.some((ip) => cidrContains(one, ip)),
  )
  const pods = [...config.clusterCIDR, ...(node?.podCIDRs ?? [])]
  const others = ranges.filter((one) => !ofNode.includes(one))
  const ofPods = others.filter((one) =>
    pods.some((network) => isWithin(one, network) || isWithin(network, one)),
  )
  return { refused: networkDifference(others, pods), ofNode, ofPods }
}
