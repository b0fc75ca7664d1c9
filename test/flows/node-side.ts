import type { NodeContext } from '../../src/forwarding/node-context.ts'
import { cidr, ip, nodeContext } from '../../src/forwarding/testing/fixtures.ts'
import { cidrContains, familyOf, type IpAddress } from '../../src/lib/ip.ts'
import type { FlowConfig, FlowFile, ProxySettings } from './flow-file.ts'

/** The node of one configuration, as the compiler and as a packet see it. */
export interface NodeSide {
  readonly context: NodeContext
  readonly masqueradeAll: boolean
  originOf(src: IpAddress): 'pod' | 'node' | 'outside'
  servesNodePorts(dst: IpAddress): boolean
}

export function nodeSide({ defaults }: FlowFile, config: FlowConfig): NodeSide {
  const proxy: ProxySettings = { ...defaults.proxy, ...config.proxy }
  const addresses = Object.values(defaults.node.addresses)
    .flat()
    .map((address) => ip(address.slice(0, address.indexOf('/'))))
  const outward = addresses.filter((address) => !isLoopback(address))
  const clusterCIDRs = proxy.detectLocal.clusterCIDRs.map(cidr)
  const selected = proxy.nodePortAddresses?.map(cidr)
  return {
    context: nodeContext({
      name: defaults.node.name,
      zone: config.node?.labels?.['topology.kubernetes.io/zone'],
      addresses: {
        4: outward.filter((address) => familyOf(address) === 4),
        6: outward.filter((address) => familyOf(address) === 6),
      },
    }),
    masqueradeAll: proxy.masqueradeAll,
    originOf(src) {
      if (addresses.includes(src)) return 'node'
      return clusterCIDRs.some((range) => cidrContains(range, src)) ? 'pod' : 'outside'
    },
    servesNodePorts(dst) {
      if (!addresses.includes(dst)) return false
      if (selected !== undefined && !selected.some((range) => cidrContains(range, dst)))
        return false
      return !isLoopback(dst) || (proxy.localhostNodePorts && familyOf(dst) === 4)
    },
  }
}

function isLoopback(address: IpAddress): boolean {
  return address === '::1' || address.startsWith('127.')
}
