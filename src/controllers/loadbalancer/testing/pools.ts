import type { AddressPoolSpec } from '../address-pool.ts'
import type { LoadBalancerSettings } from '../loadbalancer-controller.ts'

/** A pool for all Services, except for what `parts` say. */
export function pool(
  addresses: readonly string[],
  parts: Partial<AddressPoolSpec> = {},
): AddressPoolSpec {
  return { name: '', namespaces: [], autoAssign: true, ...parts, addresses }
}

/** Settings with a pool without a name for each network or range, for Services without a class. */
export function plainPools(...texts: readonly string[]): LoadBalancerSettings {
  return { addressPools: texts.map((text) => pool([text])), loadBalancerClass: '' }
}
