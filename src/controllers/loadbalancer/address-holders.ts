import { isDeepEqual } from '../../lib/equal.ts'
import { NAMES } from '../../resources/names.ts'
import { ingressGroup } from '../cache/collections.ts'
import type { View } from '../cache/object-cache.ts'
import { byAge } from '../objects/object-meta.ts'
import type { ServiceObject, ServicePortObject } from '../objects/service-object.ts'

/** The Services of a cluster, and the class of those that this controller serves. */
export interface ServedServices {
  readonly view: Pick<View, 'services'>
  /** `spec.loadBalancerClass` of the Services that get addresses; empty: of those without a class. */
  readonly className: string
}

/** Whether this controller assigns the addresses of the Service. */
export function isServed({ loadBalancer }: ServiceObject, className: string): boolean {
  return loadBalancer.isRequested && loadBalancer.className === className
}

/** The Services whose status has the address, without the one with this key. */
export function otherHolders(
  key: string,
  ip: string,
  { services }: Pick<View, 'services'>,
): readonly ServiceObject[] {
  return [...services.group(ingressGroup(ip))].filter(({ meta }) => meta.key !== key)
}

/**
 * The Services that keep an address which their status has. Services to which another controller assigned it take
 * precedence and share it with no Service of this controller. Of those of this controller the oldest keeps it, together
 * with those that may share it with all that are older and keep it. Services that are no longer of type LoadBalancer
 * do not count.
 */
export function keepersOf(
  ip: string,
  { view, className }: ServedServices,
): readonly ServiceObject[] {
  const holders = [...view.services.group(ingressGroup(ip))].filter(
    ({ loadBalancer }) => loadBalancer.isRequested,
  )
  const foreign = holders.filter((one) => !isServed(one, className))
  if (foreign.length > 0) return foreign
  const keepers: ServiceObject[] = []
  for (const holder of holders.toSorted(byAge)) {
    const canShare = keepers.every((one) => sharingObstacle(holder, one) === undefined)
    if (canShare) keepers.push(holder)
  }
  return keepers
}

/** Why a Service cannot have an address, and what to do. */
export interface Obstacle {
  readonly reason: 'AddressInUse' | 'SharingRefused'
  /** One or two sentences. */
  readonly message: string
}

/** Why a Service cannot get an address because of the Services that have it; undefined: it can. */
export function obstacleTo(
  service: ServiceObject,
  ip: string,
  { view, className }: ServedServices,
): Obstacle | undefined {
  for (const other of otherHolders(service.meta.key, ip, view).toSorted(byAge)) {
    const { key } = other.meta
    const why = isServed(other, className) ? sharingObstacle(service, other) : NOT_SERVED
    if (why === undefined) continue
    const wantsSharing = service.loadBalancer.sharingKey !== '' && why !== NOT_SERVED
    return wantsSharing
      ? { reason: 'SharingRefused', message: `${ip} cannot be shared with ${key}: ${why}.` }
      : { reason: 'AddressInUse', message: `${ip} belongs to ${key}: ${why}.` }
  }
  return undefined
}

/** The fields that decide whether Services may share an address, as a value to be compared. */
export function sharingFacts({ loadBalancer, selector, ports }: ServiceObject): unknown {
  const { sharingKey, isLocal } = loadBalancer
  if (sharingKey === '') return undefined
  return { sharingKey, isLocal, ports: ports.map(portText), selector: isLocal && selector }
}

const NOT_SERVED = 'another controller assigned it there, or is about to release it'
const [SHARING_KEY] = NAMES.sharingKey

/** Why two Services cannot share an address, and what to do; undefined: they can. */
function sharingObstacle(a: ServiceObject, b: ServiceObject): string | undefined {
  const [one, other] = [a.loadBalancer, b.loadBalancer]
  if (one.sharingKey === '' || one.sharingKey !== other.sharingKey) {
    return `to share it, give both the same annotation ${SHARING_KEY}; otherwise request another address`
  }
  const ports = new Set(b.ports.map(portText))
  const taken = a.ports.map(portText).find((port) => ports.has(port))
  if (taken !== undefined) {
    return `both have the port ${taken}; change it, or give one of them another ${SHARING_KEY}`
  }
  if (!one.isLocal && !other.isLocal) return undefined
  const isSameSelector = a.selector !== undefined && isDeepEqual(a.selector, b.selector)
  if (one.isLocal && other.isLocal && isSameSelector && a.meta.namespace === b.meta.namespace) {
    return undefined
  }
  return 'externalTrafficPolicy has to be Cluster in both, or Local in both with the same selector in one namespace'
}

function portText({ protocol, port }: ServicePortObject): string {
  return `${port}/${protocol}`
}
