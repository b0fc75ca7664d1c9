import { isDeepEqual } from '../lib/equal.ts'
import { type Family, familyOf, type IpAddress, parseIp } from '../lib/ip.ts'
import { parseLegacyIp } from '../lib/legacy-address.ts'
import { LOAD_BALANCER_CONDITION } from '../resources/label-names.ts'
import {
  conditionMatches,
  setCondition,
  type WantedCondition,
} from '../resources/status-condition.ts'
import { type AddressPool, isInPools } from './address-pool.ts'
import { ingressGroup, WAITING_GROUP } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import { byAge } from './objects/object-meta.ts'
import type { ServiceObject } from './objects/service-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { eventWrite, type Patch, statusPatch } from './runner/write.ts'

/** `spec.loadBalancerClass` of Services that get addresses of the pools, as those without a class do. */
const ADDRESS_POOL_CLASS = 'orch.io/address-pool'

const NAME = 'loadbalancer'

const ASSIGNED: WantedCondition = {
  type: LOAD_BALANCER_CONDITION,
  status: 'True',
  reason: 'Assigned',
  message: 'The Service has its addresses.',
}

const NOT_WANTED: WantedCondition = {
  type: LOAD_BALANCER_CONDITION,
  status: 'Unknown',
  reason: 'NotWanted',
  message: 'The Service is not of type LoadBalancer.',
}

/**
 * Assigns addresses of the pools to Services of type LoadBalancer. The assignments are stored only in the
 * status of the Services. One worker reconciles one Service after another, so that each reconcile sees the
 * assignments before it. Without a pool the controller does nothing: another one may assign addresses.
 */
export function createLoadBalancerController(pools: readonly AddressPool[]): Controller {
  return {
    name: NAME,
    account: 'service-controller',
    workers: 1,
    watches: pools.length === 0 ? {} : { services: serviceAffects },
    reconcile(key, view, now) {
      const service = view.services.get(key)
      if (service === undefined) return SETTLED
      if (usesAddressPools(service))
        return writeAssignment(service, assign({ service, pools, view }), now)
      return service.loadBalancer.isRequested ? SETTLED : removeAssignment(service, pools, now)
    },
  }
}

/**
 * The keys of the Service, of other Services with one of its addresses, and, when it gave up an address, of
 * those that wait for one, the oldest first.
 */
function serviceAffects(
  { key, before, after }: ObjectChange<ServiceObject>,
  view: View,
): readonly string[] {
  const held = after?.loadBalancer.ingress ?? []
  const isFreed = before?.loadBalancer.ingress.some((ip) => !held.includes(ip)) ?? false
  const others = after === undefined ? [] : held.flatMap((ip) => otherHolders(after, ip, view))
  const waiting = isFreed ? [...view.services.group(WAITING_GROUP)].toSorted(byAge) : []
  return [key, ...[...others, ...waiting].map(({ meta }) => meta.key)]
}

function writeAssignment(
  service: ServiceObject,
  assignment: Assignment,
  now: number,
): Reconciliation {
  const { addresses, problem } = assignment
  const { condition } = service.loadBalancer
  const wanted: WantedCondition = problem
    ? { type: LOAD_BALANCER_CONDITION, status: 'False', ...problem }
    : ASSIGNED
  const isSettled =
    isDeepEqual(addresses, service.loadBalancer.ingress) && conditionMatches(condition, wanted)
  if (isSettled) return SETTLED
  const patch = addressesPatch(service, addresses, { wanted, now })
  if (problem === undefined || problem.reason === condition.reason) return { writes: [patch] }
  const subject = { apiVersion: 'v1', kind: 'Service', meta: service.meta }
  const content = { controller: NAME, type: 'Warning', ...problem } as const
  return { writes: [patch, eventWrite(subject, content, now)] }
}

/**
 * Removes the addresses of a Service that is no longer of type LoadBalancer, if one is of a pool or this
 * controller reported on them. Its condition becomes Unknown.
 */
function removeAssignment(
  service: ServiceObject,
  pools: readonly AddressPool[],
  now: number,
): Reconciliation {
  const { ingress, condition } = service.loadBalancer
  const hasAddress = ingress.some((text) => {
    const ip = parseIp(text)
    return ip !== undefined && isInPools(ip, pools)
  })
  const isReported = condition.status === 'True' || condition.status === 'False'
  if (!hasAddress && !isReported) return SETTLED
  return { writes: [addressesPatch(service, [], { wanted: NOT_WANTED, now })] }
}

function addressesPatch(
  { meta, loadBalancer }: ServiceObject,
  addresses: readonly string[],
  { wanted, now }: { readonly wanted: WantedCondition; readonly now: number },
): Patch {
  const condition = setCondition(loadBalancer.condition, wanted, now)
  const ingress = addresses.length === 0 ? null : addresses.map((ip) => ({ ip }))
  return statusPatch('services', meta, { loadBalancer: { ingress }, conditions: [condition] })
}

/** The addresses that a Service is to have. `problem`: why it does not get everything that it requests. */
interface Assignment {
  readonly addresses: readonly IpAddress[]
  readonly problem?: AssignmentProblem
}

/** Reason and message of the condition and of the Event. */
interface AssignmentProblem {
  readonly reason: 'AddressNotUsable' | 'AddressInUse' | 'PoolExhausted'
  /** One sentence. */
  readonly message: string
}

interface AssignmentInput {
  readonly service: ServiceObject
  readonly pools: readonly AddressPool[]
  readonly view: View
}

/**
 * Assigns one address for each IP family of the Service: the requested one, else the present one, else
 * the first free one. A Service that requests an unavailable address gets no new address, and keeps its
 * present one. A family without a pool is left out, unless no family of the Service has one.
 */
function assign(input: AssignmentInput): Assignment {
  const { service, pools } = input
  const problem = requestProblem(input)
  const withPool = service.families.filter((family) => pools.some((pool) => pool.family === family))
  const families = withPool.length > 0 ? withPool : service.families
  const found = families.map((family) => ({ family, ip: addressFor(input, family, problem) }))
  const addresses = found.flatMap(({ ip }) => ip ?? [])
  if (problem !== undefined) return { addresses, problem }
  const missing = found.find(({ ip }) => ip === undefined)
  if (missing === undefined) return { addresses }
  const message = `No pool has an IPv${missing.family} address left.`
  return { addresses, problem: { reason: 'PoolExhausted', message } }
}

function addressFor(
  input: AssignmentInput,
  family: Family,
  problem: AssignmentProblem | undefined,
): IpAddress | undefined {
  const requested = requestedIP(input.service)
  const isOfFamily = requested !== undefined && familyOf(requested) === family
  if (isOfFamily && problem === undefined) return requested
  const kept = keptAddress(input, family)
  if (kept !== undefined || problem !== undefined) return kept
  return firstFree(input, family)
}

/** Why the requested address is not available; undefined: it is, or none is requested. */
function requestProblem({ service, pools, view }: AssignmentInput): AssignmentProblem | undefined {
  const requested = service.loadBalancer.requestedIP
  const ip = requestedIP(service)
  if (requested === '') return undefined
  const name = JSON.stringify(requested)
  if (ip === undefined || !service.families.includes(familyOf(ip)) || !isInPools(ip, pools)) {
    const message = `spec.loadBalancerIP ${name} is in no pool of an IP family of the Service.`
    return { reason: 'AddressNotUsable', message }
  }
  const isTaken = !keepsAddress(service, ip, view) && otherHolders(service, ip, view).length > 0
  if (!isTaken) return undefined
  const message = `spec.loadBalancerIP ${name} belongs to another Service.`
  return { reason: 'AddressInUse', message }
}

function requestedIP({ loadBalancer }: ServiceObject): IpAddress | undefined {
  return parseLegacyIp(loadBalancer.requestedIP)
}

function keptAddress(
  { service, pools, view }: AssignmentInput,
  family: Family,
): IpAddress | undefined {
  return service.loadBalancer.ingress
    .flatMap((text) => parseIp(text) ?? [])
    .find(
      (ip) => familyOf(ip) === family && isInPools(ip, pools) && keepsAddress(service, ip, view),
    )
}

function firstFree(
  { service, pools, view }: AssignmentInput,
  family: Family,
): IpAddress | undefined {
  for (const pool of pools.filter((one) => one.family === family)) {
    for (const ip of pool.addresses()) {
      if (otherHolders(service, ip, view).length === 0) return ip
    }
  }
  return undefined
}

/** Whether this controller assigns the addresses of the Service. */
function usesAddressPools({ loadBalancer }: ServiceObject): boolean {
  const { isRequested, className } = loadBalancer
  return isRequested && (className === '' || className === ADDRESS_POOL_CLASS)
}

/** The other Services whose status has the address. */
function otherHolders({ meta }: ServiceObject, ip: string, view: View): readonly ServiceObject[] {
  return [...view.services.group(ingressGroup(ip))].filter((one) => one.meta.key !== meta.key)
}

/**
 * Whether a Service whose status has the address keeps it. A Service to which another controller assigned the
 * address takes precedence; among those of this controller the oldest keeps it. Services that are no longer of
 * type LoadBalancer do not count.
 */
function keepsAddress(service: ServiceObject, ip: string, view: View): boolean {
  const goesBefore = (other: ServiceObject): boolean =>
    usesAddressPools(other) ? byAge(service, other) < 0 : !other.loadBalancer.isRequested
  const isHeld = service.loadBalancer.ingress.includes(ip)
  return isHeld && otherHolders(service, ip, view).every(goesBefore)
}
