import { cidrContains, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { NodeProxyConfiguration } from '../config/configuration.ts'

export interface NodeAddresses {
  /** What the Node object names. */
  readonly primary: readonly IpAddress[]
  /** What the interfaces have. */
  readonly local: readonly IpAddress[]
  readonly families: readonly Family[]
}

/**
 * Where health check node ports listen: as node ports, on every address, on
 * those of some networks, or on those of the Node object.
 */
export function healthCheckAddresses(
  nodePortAddresses: NodeProxyConfiguration['nodePortAddresses'],
  node: NodeAddresses,
): readonly IpAddress[] {
  const ofFamily = (ip: IpAddress) => node.families.includes(familyOf(ip))
  if (nodePortAddresses === 'primary') return unique(node.primary.filter(ofFamily))
  if (nodePortAddresses.length === 0) {
    return node.families.map((family) => (family === 6 ? '::' : '0.0.0.0') as IpAddress)
  }
  const inside = (ip: IpAddress) => nodePortAddresses.some((cidr) => cidrContains(cidr, ip))
  return unique(node.local.filter((ip) => ofFamily(ip) && inside(ip)))
}

function unique(addresses: readonly IpAddress[]): readonly IpAddress[] {
  return [...new Set(addresses)]
}
