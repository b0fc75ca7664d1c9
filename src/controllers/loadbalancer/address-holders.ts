import { ingressGroup } from '../cache/collections.ts'
import type { View } from '../cache/view.ts'
import { byAge } from '../objects/by-age.ts'
import type { ServiceObject } from '../objects/service-object.ts'

/** `spec.loadBalancerClass` of Services that get addresses of the pools, as those without a class do. */
const ADDRESS_POOL_CLASS = 'orch.io/address-pool'

/** Whether this controller assigns the addresses of the Service. */
export function usesAddressPools({ loadBalancer }: ServiceObject): boolean {
  const { isRequested, className } = loadBalancer
  return isRequested && (className === '' || className === ADDRESS_POOL_CLASS)
}

/** The other Services whose status has the address. */
export function otherHolders(
  { meta }: ServiceObject,
  ip: string,
  view: View,
): readonly ServiceObject[] {
  return [...view.services.group(ingressGroup(ip))].filter((one) => one.meta.key !== meta.key)
}

/**
 * Whether a Service whose status has the address keeps it. Of the Services that this controller assigns
 * addresses to, the oldest keeps it. A Service that another controller assigned it to always goes first, and
 * one that is no longer of type LoadBalancer does not count.
 */
export function keepsAddress(service: ServiceObject, ip: string, view: View): boolean {
  const goesBefore = (other: ServiceObject): boolean =>
    usesAddressPools(other) ? byAge(service, other) < 0 : !other.loadBalancer.isRequested
  const isHeld = service.loadBalancer.ingress.includes(ip)
  return isHeld && otherHolders(service, ip, view).every(goesBefore)
}
