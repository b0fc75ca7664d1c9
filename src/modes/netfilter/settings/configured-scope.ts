import type { NetfilterConfiguration } from './configuration.ts'
import type { NodeNetworks } from './mode-inputs.ts'
import { EVERY_ADDRESS, type NodePortScope } from './node-port-scope.ts'

/**
 * The addresses that `nodePortAddresses` selects, for every mode and for health check node ports.
 * Only an empty list in the configuration selects all of them; a Node object that is missing, or
 * has no address, selects none. What an earlier state of that object had does not count, so that
 * the result is the same before and after a restart.
 */
export function nodePortScope(
  configured: NetfilterConfiguration['nodePortAddresses'],
  node: Pick<NodeNetworks, 'addresses'> | undefined,
): NodePortScope {
  if (configured === 'primary') return { kind: 'addresses', addresses: node?.addresses ?? [] }
  return configured.length === 0 ? EVERY_ADDRESS : { kind: 'networks', networks: configured }
}
