import { type Family, familyOf, type IpAddress } from '../../../lib/ip.ts'
import { isInScope, type NodePortScope } from '../../../modes/netfilter/settings/node-port-scope.ts'

export interface ListeningNode {
  /** What the interfaces have. */
  readonly local: readonly IpAddress[]
  readonly families: readonly Family[]
}

/**
 * Where health check node ports listen: as node ports, on every address, or on those of the
 * interfaces that are in scope. An address that only the Node object has, such as the one of a
 * gateway that translates, cannot be listened on; `0.0.0.0` there would be every address.
 */
export function healthCheckAddresses(
  scope: NodePortScope,
  { local, families }: ListeningNode,
): readonly IpAddress[] {
  if (scope.kind === 'all') {
    return families.map((family) => (family === 6 ? '::' : '0.0.0.0') as IpAddress)
  }
  const inside = local.filter((ip) => families.includes(familyOf(ip)) && isInScope(scope, ip))
  return [...new Set(inside)]
}
