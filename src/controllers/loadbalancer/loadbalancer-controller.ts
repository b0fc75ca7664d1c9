import { isDeepEqual } from '../../lib/equal.ts'
import { parseIp } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/label-names.ts'
import { conditionMatches, setCondition } from '../../resources/status-condition.ts'
import { namespaceGroup, requestGroup, sharingGroup, WAITING_GROUP } from '../cache/collections.ts'
import type { ObjectChange, View } from '../cache/object-cache.ts'
import { byAge } from '../objects/object-meta.ts'
import type { NamespaceObject } from '../objects/plain-objects.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import {
  type EventContent,
  type EventWrite,
  eventWrite,
  type Patch,
  statusPatch,
} from '../runner/write.ts'
import { isServed, otherHolders, sharingFacts } from './address-holders.ts'
import { type AddressPool, type AddressPoolSpec, createAddressPool } from './address-pool.ts'
import { type Assignment, assignAddresses } from './assign-addresses.ts'

const NAME = 'loadbalancer'

/** What an operator decides about addresses of load balancers. */
export interface LoadBalancerSettings {
  /** Those without a request are filled in this order. Empty: another controller assigns addresses. */
  readonly addressPools: readonly AddressPoolSpec[]
  /** `spec.loadBalancerClass` of the Services that get addresses; empty: of those without a class. */
  readonly loadBalancerClass: string
}

/**
 * Assigns addresses of the pools to Services of type LoadBalancer. The assignments are stored only in the
 * status of the Services. One worker reconciles one Service after another, so that each reconcile sees the
 * assignments before it. Without a pool the controller does nothing: another one may assign addresses.
 */
export function createLoadBalancerController({
  addressPools,
  loadBalancerClass: className,
}: LoadBalancerSettings): Controller {
  const pools = addressPools.map(createAddressPool)
  const byNamespace = pools.some((pool) => pool.hasNamespaceSelector)
  const watched = { services: serviceAffects, ...(byNamespace && { namespaces: namespaceAffects }) }
  return {
    name: NAME,
    account: 'service-controller',
    workers: 1,
    watches: pools.length === 0 ? {} : watched,
    reconcile(key, view, now) {
      const service = view.services.get(key)
      if (service === undefined) return SETTLED
      if (isServed(service, className)) {
        return writeAssignment(service, assignAddresses(service, { pools, className, view }), now)
      }
      return service.loadBalancer.isRequested ? SETTLED : release(service, pools, now)
    },
  }
}

/** The keys of the Service, of other Services with one of its addresses, and of waiting ones, the oldest first. */
function serviceAffects(
  change: ObjectChange<ServiceObject>,
  view: Pick<View, 'services'>,
): readonly string[] {
  const { key, before, after } = change
  const held = new Set([...ingressOf(before), ...ingressOf(after)])
  const others = [...held].flatMap((ip) => otherHolders(key, ip, view))
  return [key, ...[...others, ...concerned(change, view)].map(({ meta }) => meta.key)]
}

/**
 * The waiting Services that a change may concern: all, when an address was given up; those of a sharing key whose
 * Services have other addresses, or can share them otherwise; and those that request an address which was taken.
 */
function concerned(
  { before, after }: ObjectChange<ServiceObject>,
  { services }: Pick<View, 'services'>,
): readonly ServiceObject[] {
  const [had, has] = [ingressOf(before), ingressOf(after)]
  const waiting = (group: string): readonly ServiceObject[] =>
    [...services.group(group)]
      .filter(({ loadBalancer }) => loadBalancer.condition.status === 'False')
      .toSorted(byAge)
  if (had.some((ip) => !has.includes(ip))) return waiting(WAITING_GROUP)
  const gained = has.filter((ip) => !had.includes(ip))
  const isSame = isDeepEqual(before && sharingFacts(before), after && sharingFacts(after))
  const keys = isSame && gained.length === 0 ? [] : [before, after].map(sharingKeyOf)
  return [
    ...[...new Set(keys)].filter((key) => key !== '').flatMap((key) => waiting(sharingGroup(key))),
    ...gained.flatMap((ip) => waiting(requestGroup(ip))),
  ]
}

function sharingKeyOf(service: ServiceObject | undefined): string {
  return service?.loadBalancer.sharingKey ?? ''
}

function ingressOf(service: ServiceObject | undefined): readonly string[] {
  return service?.loadBalancer.ingress ?? []
}

/** The Services of a namespace whose labels change, which decide about the pools for them. */
function namespaceAffects(
  { key, before, after }: ObjectChange<NamespaceObject>,
  { services }: Pick<View, 'services'>,
): readonly string[] {
  if (isDeepEqual(before?.meta.labels, after?.meta.labels)) return []
  const balanced = [...services.group(namespaceGroup(key))].filter(
    ({ loadBalancer }) => loadBalancer.isRequested,
  )
  return balanced.toSorted(byAge).map(({ meta }) => meta.key)
}

/** Writes addresses and condition if they differ, and one Event if more than the message of the condition does. */
function writeAssignment(
  service: ServiceObject,
  { addresses, lost, ...wanted }: Assignment,
  now: number,
): Reconciliation {
  const { condition, ingress } = service.loadBalancer
  const isSame = isDeepEqual(addresses, ingress)
  const listed = { type: LOAD_BALANCER_CONDITION, ...wanted }
  if (isSame && conditionMatches(condition, listed)) return SETTLED
  const patch = addressesPatch(service, addresses, setCondition(condition, listed, now))
  if (isSame && condition.status === wanted.status && condition.reason === wanted.reason) {
    return { writes: [patch] }
  }
  const isGood =
    lost === undefined && wanted.status === 'True' && wanted.reason !== 'AddressOutsidePools'
  const move = isSame ? '' : moveText(ingress, addresses)
  const rest = wanted.reason === 'Assigned' && move !== '' ? '' : wanted.message
  const message = [lost, move, rest].filter((text) => text !== undefined && text !== '').join(' ')
  const type = isGood ? 'Normal' : 'Warning'
  return { writes: [patch, event(service, { type, reason: wanted.reason, message }, now)] }
}

function moveText(from: readonly string[], to: readonly string[]): string {
  const [before, after] = [from.filter((ip) => ip !== '').join(', '), to.join(', ')]
  if (before === '') return `The Service has the address ${after}.`
  return after === ''
    ? `The Service no longer has the address ${before}.`
    : `The address changed from ${before} to ${after}.`
}

/**
 * Removes the addresses and the condition of a Service that is no longer of type LoadBalancer, if an address is of a
 * pool or this controller reported on them. A server may remove the addresses with the type; the condition is left then.
 */
function release(
  service: ServiceObject,
  pools: readonly AddressPool[],
  now: number,
): Reconciliation {
  const { ingress, condition } = service.loadBalancer
  const hasAddress = ingress.some((text) => {
    const ip = parseIp(text)
    return ip !== undefined && pools.some((pool) => pool.contains(ip))
  })
  if (!hasAddress && condition.status === '') return SETTLED
  const patch = addressesPatch(service, [], { $patch: 'delete', type: LOAD_BALANCER_CONDITION })
  if (ingress.length === 0 && condition.status !== 'True') return { writes: [patch] }
  const which = ingress.length === 0 ? 'its address' : ingress.join(', ')
  const message = `The Service is no longer of type LoadBalancer: ${which} is free.`
  return { writes: [patch, event(service, { type: 'Normal', reason: 'Released', message }, now)] }
}

function addressesPatch(
  { meta }: ServiceObject,
  addresses: readonly string[],
  condition: JsonObject,
): Patch {
  const ingress = addresses.length === 0 ? null : addresses.map((ip) => ({ ip }))
  return statusPatch('services', meta, { loadBalancer: { ingress }, conditions: [condition] })
}

function event(
  { meta }: ServiceObject,
  content: Pick<EventContent, 'type' | 'reason' | 'message'>,
  now: number,
): EventWrite {
  return eventWrite(
    { apiVersion: 'v1', kind: 'Service', meta },
    { controller: NAME, ...content },
    now,
  )
}
