import { type Family, familyOf, type IpAddress, parseIp } from '../../lib/ip.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { quote } from '../../lib/quote.ts'
import { NAMES } from '../../resources/names.ts'
import { sharingGroup } from '../cache/collections.ts'
import type { View } from '../cache/object-cache.ts'
import { byAge } from '../objects/object-meta.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import { isServed, keepersOf, obstacleTo, otherHolders } from './address-holders.ts'
import type { AddressPool } from './address-pool.ts'

/** What addresses are assigned from, and the Services that have some. */
export interface AssignmentInputs {
  /** In the order in which they are used. */
  readonly pools: readonly AddressPool[]
  /** See `ServedServices`. */
  readonly className: string
  readonly view: Pick<View, 'services' | 'namespaces'>
}

/** The addresses that a Service is to have, and what its condition reports. */
export interface Assignment {
  /** In the order of the families of the Service. */
  readonly addresses: readonly IpAddress[]
  readonly status: 'True' | 'False'
  readonly reason: AssignmentReason
  /** One or two sentences: what is wrong, and what to do. */
  readonly message: string
  /** Why an address that the Service has is taken from it. */
  readonly lost?: string
}

type AssignmentReason =
  | 'Assigned'
  | 'Shared'
  | 'AddressOutsidePools'
  | 'FamilyNotInPools'
  | Problem['reason']

/** Why a Service does not get everything that it requests. */
interface Problem {
  readonly reason:
    | 'AddressInUse'
    | 'AddressNotInPool'
    | 'AddressNotUsable'
    | 'FamilyMismatch'
    | 'FamilyNotInPools'
    | 'NoPool'
    | 'PoolExhausted'
    | 'PoolNotFound'
    | 'PoolNotPermitted'
    | 'SharingRefused'
  readonly message: string
}

/**
 * Assigns one address for each IP family of the Service: the requested one, else the present one, else one that it may
 * share, else the first free one. It depends on nothing but the present Services, namespaces and pools.
 *
 * A Service that requests what it cannot have gets no new address and keeps what it has. An address that no pool has any
 * more stays, unless the Service requests another one. A family without a pool is left out if the Service gets an
 * address of its other family and does not require both.
 */
export function assignAddresses(service: ServiceObject, inputs: AssignmentInputs): Assignment {
  const request = readRequest(service, inputs)
  const found = service.families.map((family): FamilyAddress => {
    const present = presentAddress(service, family, inputs)
    if ('reason' in request) return { present, ip: present, problem: request }
    const ip = request.addresses.get(family)
    if (ip !== undefined) return { present, ip }
    return choose(service, { family, present }, request.usable, inputs)
  })
  const result = conclude(service, found, inputs)
  const lost = lostAddress(service, result.addresses, inputs)
  return lost === undefined ? result : { ...result, lost }
}

/** The address of one family: the present one, the one to have, and why it is not another one. */
interface FamilyAddress {
  readonly present: IpAddress | undefined
  readonly ip: IpAddress | undefined
  readonly problem?: Problem
}

function conclude(
  service: ServiceObject,
  found: readonly FamilyAddress[],
  inputs: AssignmentInputs,
): Assignment {
  const isIncomplete = found.some(({ ip }) => ip === undefined)
  const isWithheld = isIncomplete && service.loadBalancer.requiresFamilies
  const addresses = found.flatMap(({ present, ip }) => (isWithheld ? present : ip) ?? [])
  const problems = found.flatMap((one) => one.problem ?? [])
  const problem = problems.toSorted((a, b) => rankOf(a) - rankOf(b))[0]
  if (problem === undefined)
    return { addresses, status: 'True', ...success(service, addresses, inputs) }
  const isOptional = found.every(
    (one) =>
      one.problem === undefined ||
      (one.problem.reason === 'FamilyNotInPools' && one.ip === undefined),
  )
  const isEnough = isOptional && addresses.length > 0 && !isWithheld
  return { addresses, status: isEnough ? 'True' : 'False', ...problem }
}

/**
 * Orders the problems of both families: the condition shows the one with the lowest rank. It depends least on other
 * Services, so it stays true while their addresses change.
 */
function rankOf({ reason }: Problem): number {
  return ['FamilyNotInPools', 'SharingRefused', 'PoolExhausted'].indexOf(reason)
}

/** What the condition of a Service reports that has all its addresses. */
function success(
  service: ServiceObject,
  addresses: readonly IpAddress[],
  inputs: AssignmentInputs,
): Pick<Assignment, 'reason' | 'message'> {
  const permitted = permittedPools(service, inputs)
  const outside = addresses.find((ip) => !permitted.some((pool) => pool.contains(ip)))
  if (outside !== undefined) {
    const message = `${outside} is in no pool that the Service may use. It stays until the Service requests another one with the annotation ${ADDRESSES}.`
    return { reason: 'AddressOutsidePools', message }
  }
  const shared = addresses.find((ip) =>
    keepersOf(ip, inputs).some(({ meta }) => meta.key !== service.meta.key),
  )
  if (shared === undefined) return { reason: 'Assigned', message: 'The Service has its addresses.' }
  const key = quote(service.loadBalancer.sharingKey)
  const message = `${shared} is shared with the other Services whose annotation ${SHARING_KEY} is ${key}.`
  return { reason: 'Shared', message }
}

/** Why an address of the Service is taken from it; undefined: none is, or the Service wants another one. */
function lostAddress(
  service: ServiceObject,
  addresses: readonly IpAddress[],
  inputs: AssignmentInputs,
): string | undefined {
  for (const ip of service.loadBalancer.ingress) {
    const keepers = keepersOf(ip, inputs)
    const isKept = addresses.some((one) => one === ip) || keepers.includes(service)
    const [first] = keepers
    if (isKept || first === undefined) continue
    const why = isServed(first, inputs.className)
      ? 'which is older'
      : 'which another controller serves'
    return `${ip} stays with ${first.meta.key}, ${why}.`
  }
  return undefined
}

/** What a Service requests, where it can have all of it. */
interface Request {
  readonly usable: UsablePools
  /** At most one of each family. */
  readonly addresses: ReadonlyMap<Family, IpAddress>
}

function readRequest(service: ServiceObject, inputs: AssignmentInputs): Request | Problem {
  const usable = usablePools(service, inputs)
  if ('reason' in usable) return usable
  const addresses = requestedAddresses(service, usable, inputs)
  return 'reason' in addresses ? addresses : { usable, addresses }
}

/** The pools that a Service may use. */
interface UsablePools {
  /** For addresses that it requests. */
  readonly permitted: readonly AddressPool[]
  /** For addresses that are chosen for it. */
  readonly automatic: readonly AddressPool[]
  /** The one that it chooses by its name. */
  readonly chosen?: AddressPool
}

function usablePools(service: ServiceObject, inputs: AssignmentInputs): UsablePools | Problem {
  const { poolName } = service.loadBalancer
  const permitted = permittedPools(service, inputs)
  if (poolName === '') return { permitted, automatic: permitted.filter((pool) => pool.autoAssign) }
  const chosen = inputs.pools.find(({ name }) => name === poolName)
  const name = quote(poolName)
  if (chosen === undefined) {
    const names = permitted.flatMap((pool) => (pool.name === '' ? [] : [pool.name]))
    const remedy = names.length === 0 ? 'remove it' : `write one of ${names.join(', ')}`
    const message = `There is no pool ${name}, which the annotation ${POOL} names; ${remedy}.`
    return { reason: 'PoolNotFound', message }
  }
  if (permitted.includes(chosen)) return { permitted: [chosen], automatic: [chosen], chosen }
  const message = `The pool ${name} is not for Services of this namespace, or with these labels; remove the annotation ${POOL}, or permit them in loadBalancer.addressPools of orch-server.`
  return { reason: 'PoolNotPermitted', message }
}

function permittedPools(
  { meta }: ServiceObject,
  { pools, view }: AssignmentInputs,
): readonly AddressPool[] {
  const labels = view.namespaces.get(meta.namespace)?.meta.labels ?? {}
  return pools.filter((pool) => pool.permits(meta, labels))
}

function requestedAddresses(
  service: ServiceObject,
  usable: UsablePools,
  inputs: AssignmentInputs,
): ReadonlyMap<Family, IpAddress> | Problem {
  const { requestedIPs, requestField } = service.loadBalancer
  const requested = new Map<Family, IpAddress>()
  for (const text of requestedIPs) {
    const ip = parseLegacyIp(text)
    if (ip === undefined) {
      const message = `${requestField} has ${quote(text)}, which is no IP address; write an address of a pool, or remove it.`
      return { reason: 'AddressNotUsable', message }
    }
    const family = familyOf(ip)
    if (requested.has(family)) {
      const message = `${requestField} has two IPv${family} addresses; write one of each family.`
      return { reason: 'AddressNotUsable', message }
    }
    const problem = requestProblem(service, ip, usable, inputs)
    if (problem !== undefined) return problem
    requested.set(family, ip)
  }
  return firstObstacle(service, [...requested.values()], inputs) ?? requested
}

/** Which other Service has a requested address. It is checked last, because it changes with these Services. */
function firstObstacle(
  service: ServiceObject,
  requested: readonly IpAddress[],
  inputs: AssignmentInputs,
): Problem | undefined {
  for (const ip of requested) {
    const isKept = keepersOf(ip, inputs).includes(service)
    const obstacle = isKept ? undefined : obstacleTo(service, ip, inputs)
    if (obstacle !== undefined) return obstacle
  }
  return undefined
}

/** Why the Service cannot have an address that it requests, whether or not another one has it. */
function requestProblem(
  service: ServiceObject,
  ip: IpAddress,
  { permitted, chosen }: UsablePools,
  inputs: AssignmentInputs,
): Problem | undefined {
  const { requestField } = service.loadBalancer
  const families = service.families.map((family) => `IPv${family}`).join(' and ')
  if (!service.families.includes(familyOf(ip))) {
    const message = `${ip} of ${requestField} is an IPv${familyOf(ip)} address, and the Service has ${families}; write one of that family, or change spec.ipFamilies.`
    return { reason: 'FamilyMismatch', message }
  }
  const isKept = keepersOf(ip, inputs).includes(service)
  const containing = inputs.pools.filter((pool) => pool.contains(ip))
  if (containing.length === 0 && !isKept) {
    const message = `${ip} of ${requestField} is in no pool; write an address of a pool, or remove it.`
    return { reason: 'AddressNotInPool', message }
  }
  if (chosen !== undefined && containing.length > 0 && !containing.includes(chosen)) {
    const message = `${ip} of ${requestField} is not in the pool ${quote(chosen.name)}, which the annotation ${POOL} names; correct one of them.`
    return { reason: 'AddressNotInPool', message }
  }
  if (!isKept && !permitted.some((pool) => pool.contains(ip))) {
    const message = `${ip} of ${requestField} is in a pool that is not for Services of this namespace, or with these labels; write another one, or permit them in loadBalancer.addressPools of orch-server.`
    return { reason: 'PoolNotPermitted', message }
  }
  return undefined
}

/** The address of the family that the Service has and keeps. */
function presentAddress(
  service: ServiceObject,
  family: Family,
  inputs: AssignmentInputs,
): IpAddress | undefined {
  return service.loadBalancer.ingress
    .flatMap((text) => parseIp(text) ?? [])
    .find((ip) => familyOf(ip) === family && keepersOf(ip, inputs).includes(service))
}

/** The present address, unless the Service chooses another pool than the one that has it; else a new one. */
function choose(
  service: ServiceObject,
  { family, present }: { readonly family: Family; readonly present: IpAddress | undefined },
  usable: UsablePools,
  inputs: AssignmentInputs,
): FamilyAddress {
  const { chosen } = usable
  const isElsewhere =
    present !== undefined &&
    chosen?.contains(present) === false &&
    inputs.pools.some((pool) => pool.contains(present))
  if (present !== undefined && !isElsewhere) return { present, ip: present }
  const ip = newAddress(service, family, usable, inputs)
  return typeof ip === 'string' ? { present, ip } : { present, ip: present, problem: ip }
}

function newAddress(
  service: ServiceObject,
  family: Family,
  { automatic }: UsablePools,
  inputs: AssignmentInputs,
): IpAddress | Problem {
  const pools = automatic.filter((pool) => pool.hasFamily(family))
  if (automatic.length === 0) {
    const message = `No pool is for Services of this namespace with these labels; choose a pool with the annotation ${POOL}, or permit them in loadBalancer.addressPools of orch-server.`
    return { reason: 'NoPool', message }
  }
  if (pools.length === 0) {
    const message = `No pool that the Service may use has IPv${family} addresses; add some to loadBalancer.addressPools of orch-server, or change spec.ipFamilies.`
    return { reason: 'FamilyNotInPools', message }
  }
  const shared = sharedAddress(service, { family, pools }, inputs)
  if (shared !== undefined) return shared
  for (const pool of pools) {
    for (const ip of pool.addresses(family)) {
      if (otherHolders(service.meta.key, ip, inputs.view).length === 0) return ip
    }
  }
  const isBoth = service.loadBalancer.requiresFamilies && service.families.length > 1
  const names = (isBoth ? automatic : pools).flatMap(({ name }) => (name === '' ? [] : [name]))
  const named = names.length === 0 ? '' : ` (${names.join(', ')})`
  const what = isBoth ? 'pair of an IPv4 and an IPv6 address' : `IPv${family} address`
  const message = `No ${what} is left in the pools of the Service${named}; delete a Service that has one, or add addresses to loadBalancer.addressPools of orch-server.`
  return { reason: 'PoolExhausted', message }
}

/** An address of the Services that share one by the same key; undefined: they have none yet. */
function sharedAddress(
  service: ServiceObject,
  { family, pools }: { readonly family: Family; readonly pools: readonly AddressPool[] },
  inputs: AssignmentInputs,
): IpAddress | Problem | undefined {
  const { sharingKey } = service.loadBalancer
  if (sharingKey === '') return undefined
  const others = [...inputs.view.services.group(sharingGroup(sharingKey))]
    .filter((one) => one.meta.key !== service.meta.key && isServed(one, inputs.className))
    .toSorted(byAge)
  const candidates = others
    .flatMap(({ loadBalancer }) => loadBalancer.ingress)
    .flatMap((text) => parseIp(text) ?? [])
    .filter((ip) => familyOf(ip) === family && pools.some((pool) => pool.contains(ip)))
  const obstacles = candidates.map((ip) => obstacleTo(service, ip, inputs))
  return candidates[obstacles.indexOf(undefined)] ?? obstacles[0]
}

const [POOL] = NAMES.loadBalancerPool
const [ADDRESSES] = NAMES.loadBalancerIPs
const [SHARING_KEY] = NAMES.sharingKey
