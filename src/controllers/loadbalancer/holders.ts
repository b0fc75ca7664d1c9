import { ingressGroup } from '../cache/collections.ts'
import type { View } from '../cache/view.ts'
import { byAge } from '../objects/by-age.ts'
import type { ServiceObject } from '../objects/service-object.ts'

/** Class of the Services that are served from the pools, beside those without a class. */
const OUR_CLASS = 'orch.io/address-pool'

/** Whether the Service gets its addresses from the pools. */
export function isServed({ loadBalancer: { wanted, className } }: ServiceObject): boolean {
  return wanted && (className === '' || className === OUR_CLASS)
}

/** The other Services whose status names the address. */
export function rivals({ meta }: ServiceObject, ip: string, view: View): readonly ServiceObject[] {
  return [...view.services.group(ingressGroup(ip))].filter((one) => one.meta.key !== meta.key)
}

/**
 * Whether the Service that has an address keeps it: against all others, if it is
 * the oldest. What somebody else gave to a Service of his is never disputed.
 */
export function keeps(service: ServiceObject, ip: string, view: View): boolean {
  const isHeld = service.loadBalancer.ingress.includes(ip)
  const yields = (rival: ServiceObject): boolean =>
    isServed(rival) ? byAge(service, rival) < 0 : !rival.loadBalancer.wanted
  return isHeld && rivals(service, ip, view).every(yields)
}
