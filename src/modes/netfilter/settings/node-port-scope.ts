import { type Cidr, cidrContains, familyOf, type IpAddress } from '../../../lib/ip.ts'

/**
 * Which addresses of this node serve node ports and health check node ports. Every address is a
 * kind of its own: an empty list of networks or addresses serves none.
 */
export type NodePortScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'networks'; readonly networks: readonly Cidr[] }
  | { readonly kind: 'addresses'; readonly addresses: readonly IpAddress[] }

export const EVERY_ADDRESS: NodePortScope = { kind: 'all' }
export const NO_ADDRESS: NodePortScope = { kind: 'addresses', addresses: [] }

/** Whether `ip`, if it is an address of this node, serves node ports. */
export function isInScope(scope: NodePortScope, ip: IpAddress): boolean {
  switch (scope.kind) {
    case 'all':
      return true
    case 'networks':
      return scope.networks.some(
        (cidr) => familyOf(cidr) === familyOf(ip) && cidrContains(cidr, ip),
      )
    case 'addresses':
      return scope.addresses.includes(ip)
  }
}
