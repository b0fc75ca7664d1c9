import { type Cidr, cidrContains, familyOf, type IpAddress } from '../../../lib/ip.ts'
import type { NetfilterConfiguration } from './configuration.ts'

/**
 * Which addresses of this node serve node ports and health check node ports. "All addresses" is a kind of its own: an
 * empty list of networks or addresses serves none.
 */
export type NodePortScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'networks'; readonly networks: readonly Cidr[] }
  | { readonly kind: 'addresses'; readonly addresses: readonly IpAddress[] }

/** The scope of an empty `nodePortAddresses`. */
export const EVERY_ADDRESS: NodePortScope = { kind: 'all' }
/** Serves nothing: for a cleanup. */
export const NO_ADDRESS: NodePortScope = { kind: 'addresses', addresses: [] }

/**
 * The addresses that `nodePortAddresses` selects, for every mode and for health check node ports. Only an empty list
 * in the configuration selects all of them; a Node object that is missing or has no address selects none. Earlier
 * states of that object are not used, so that the result is the same before and after a restart.
 */
export function nodePortScope(
  configured: NetfilterConfiguration['nodePortAddresses'],
  node: { readonly addresses: readonly IpAddress[] } | undefined,
): NodePortScope {
  if (configured === 'primary') return { kind: 'addresses', addresses: node?.addresses ?? [] }
  return configured.length === 0 ? EVERY_ADDRESS : { kind: 'networks', networks: configured }
}

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
