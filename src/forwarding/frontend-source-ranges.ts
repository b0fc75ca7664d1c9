import { type Cidr, cidrContains, type Family, familyOf, type IpAddress } from '../lib/ip.ts'
import type { Service } from '../resources/types.ts'
import { compareText } from './compare-text.ts'
import type { NodeContext } from './node-context.ts'

/**
 * Who may use one load balancer address: the Service's ranges of the address's
 * family, sorted. A list without any range of this family admits no client of it;
 * a range of length 0 admits every client.
 *
 * A process on this node that talks to an address bound on the node has that
 * address as its source. When one of the node's own addresses lies in a range,
 * the load balancer address is therefore admitted as a source too.
 */
export function sourceRangesFor(
  ip: IpAddress,
  service: Service,
  node: NodeContext,
): readonly Cidr[] | undefined {
  if (service.loadBalancerSourceRanges === undefined) return undefined
  const family = familyOf(ip)
  const ranges = service.loadBalancerSourceRanges.filter((range) => familyOf(range) === family)
  if (ranges.some((range) => range.endsWith('/0'))) return undefined
  if (nodeIsInside(ranges, node, family)) ranges.push(hostNetwork(ip, family))
  return [...new Set(ranges)].sort(compareText)
}

function nodeIsInside(ranges: readonly Cidr[], node: NodeContext, family: Family): boolean {
  return node.addresses[family].some((own) => ranges.some((range) => cidrContains(range, own)))
}

function hostNetwork(ip: IpAddress, family: Family): Cidr {
  return `${ip}/${family === 4 ? 32 : 128}` as Cidr
}
