import { type Family, familyOf, type IpAddress } from '../../../lib/ip.ts'
import { isInScope, type NodePortScope } from '../../../modes/netfilter/settings/node-port-scope.ts'

/** The addresses of this node. */
export interface ListeningNode {
  /** Those of the interfaces. */
  readonly local: readonly IpAddress[]
  readonly families: readonly Family[]
}

/**
 * The addresses on which health check node ports listen: like node ports, all addresses (`0.0.0.0`, `::`), or
 * those of the interfaces that are in scope. An address that only the Node object has, such as that of a
 * NAT gateway, is left out, because no socket can listen on it.
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
