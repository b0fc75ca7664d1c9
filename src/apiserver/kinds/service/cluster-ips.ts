import { isDeepEqual } from '../../../lib/equal.ts'
import { type Family, familyOf, parseIp } from '../../../lib/ip.ts'
import {
  arrayAt,
  type JsonObject,
  objectAt,
  stringAt,
  stringsAt,
  without,
} from '../../../lib/json.ts'
import { canonicalAddress, isSameAddress, parseLegacyIp } from '../../../lib/legacy-address.ts'
import type { AddressRange } from '../../allocation/address-range.ts'
import { addressKey } from '../../allocation/allocation-keys.ts'
import { ADDRESS_BAND, type AllocationPool, staticBand } from '../../allocation/allocation-pool.ts'
import { invalidValue, type StatusCause } from '../../status/status.ts'
import type { Filled } from './held-keys.ts'

const NAMES: Readonly<Record<Family, string>> = { 4: 'IPv4', 6: 'IPv6' }

export interface AddressPolicy {
  readonly ranges: readonly AddressRange[]
  readonly pool: AllocationPool
}

/**
 * Decides the ClusterIPs of a Service: those that it names, else those that it had, else free ones of its
 * families. ExternalName and headless Services have none.
 */
export function fillClusterIPs(sent: JsonObject, old: JsonObject, policy: AddressPolicy): Filled {
  if (isHalfRequested(sent, old)) {
    const requested = stringsAt(sent, 'clusterIPs')
    return clusterIPsCause(requested, 'must be empty when `clusterIP` is not specified')
  }
  const spec = trimmed(keepFamilies(sent, old), old)
  const before = stringsAt(old, 'clusterIPs')
  const requested = requestedIPs(spec, before)
  if ('cause' in requested) return requested
  if (stringAt(spec, 'type') === 'ExternalName')
    return withoutAddresses(spec, requested.ips, before)
  const held = stringAt(old, 'type') === 'ExternalName' ? [] : before
  const moved = held.some((ip, at) => !isSameAddress(requested.ips[at] ?? ip, ip))
  if (moved) return clusterIPsCause(requested.ips, 'may not change once set')
  const known = [...policy.ranges.map((range) => range.family), ...familiesNamed(old)]
  const configured = [...new Set(known)]
  if ((requested.ips[0] ?? held[0]) === 'None') return headless(spec, configured)
  const ips = requested.ips.length > 0 ? requested.ips : held.slice(0, 1)
  const decided = decideFamilies(spec, ips, configured)
  if ('cause' in decided) return decided
  return assign(spec, { requested: requested.ips, held, families: decided.families }, policy)
}

/** Whether a new Service names addresses in `clusterIPs` without naming the first one in `clusterIP`. */
function isHalfRequested(sent: JsonObject, old: JsonObject): boolean {
  const isRequested = stringAt(sent, 'clusterIP') !== '' || stringsAt(old, 'clusterIPs').length > 0
  return !isRequested && stringsAt(sent, 'clusterIPs').length > 0
}

/** A write without families leaves them as they were. */
function keepFamilies(spec: JsonObject, old: JsonObject): JsonObject {
  const fields = ['ipFamilies', 'ipFamilyPolicy'].filter((field) => Object.hasOwn(old, field))
  const silent = !['ipFamilies', 'ipFamilyPolicy', 'clusterIPs'].some((one) =>
    Object.hasOwn(spec, one),
  )
  if (!silent) return spec
  return { ...spec, ...Object.fromEntries(fields.map((field) => [field, old[field]!])) }
}

/** Removes the second address from a write that changes to a single family and leaves the other fields unchanged. */
function trimmed(spec: JsonObject, old: JsonObject): JsonObject {
  const policy = stringAt(spec, 'ipFamilyPolicy')
  if (policy !== 'SingleStack' || policy === stringAt(old, 'ipFamilyPolicy')) return spec
  const lists = ['clusterIPs', 'ipFamilies'].filter((field) => isDeepEqual(spec[field], old[field]))
  const firsts = lists.map((field) => [field, arrayAt(spec, field).slice(0, 1)] as const)
  return { ...spec, ...Object.fromEntries(firsts.filter(([, list]) => list.length > 0)) }
}

/**
 * The Service without addresses: those that it had before a change of type are removed, and a request for
 * others is refused.
 */
function withoutAddresses(
  spec: JsonObject,
  requested: readonly string[],
  before: readonly string[],
): Filled {
  if (requested.some((ip) => !isAmong(before, ip))) {
    return clusterIPsCause(requested, 'may not be set for a Service of type ExternalName')
  }
  return { spec: without(spec, 'clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy') }
}

function headless(spec: JsonObject, configured: readonly Family[]): Filled {
  const decided = headlessFamilies(spec, configured)
  if ('cause' in decided) return decided
  const named = { ...spec, clusterIP: 'None', clusterIPs: ['None'] }
  return { spec: withFamilies(named, decided.families) }
}

/** The requested addresses in canonical text; addresses that did not change keep their text. */
function requestedIPs(
  spec: JsonObject,
  before: readonly string[],
): { readonly ips: readonly string[] } | { readonly cause: StatusCause } {
  const single = stringAt(spec, 'clusterIP')
  const several = stringsAt(spec, 'clusterIPs').filter((ip) => ip !== '')
  if (single !== '' && several.length > 0 && several[0] !== single) {
    return clusterIPsCause(
      several,
      `the first one must equal spec.clusterIP, ${JSON.stringify(single)}`,
    )
  }
  const ips = several.length > 0 ? several : [single].filter((ip) => ip !== '')
  return { ips: ips.map((ip) => (before.includes(ip) ? ip : canonicalAddress(ip))) }
}

interface Assignment {
  readonly requested: readonly string[]
  readonly held: readonly string[]
  readonly families: readonly Family[]
}

function assign(spec: JsonObject, assignment: Assignment, policy: AddressPolicy): Filled {
  const { requested, held, families } = assignment
  const ips: string[] = []
  for (const family of families) {
    const range = policy.ranges.find((one) => one.family === family)
    const inFamily = (ip: string): boolean => ip.includes(':') === (family === 6)
    const wanted = requested.find(inFamily) ?? held.find(inFamily)
    const ip = wanted ?? (range && chooseAddress(range, policy.pool))
    if (ip === undefined) {
      const why =
        range === undefined ? `there is no IPv${family} range` : `range ${range.cidr} is full`
      return clusterIPsCause(requested, `failed to allocate an IP: ${why}`)
    }
    const problem = isAmong(held, ip) ? undefined : outOfRange(range, ip)
    if (problem !== undefined) return clusterIPsCause(requested, problem)
    ips.push(ip)
  }
  const named = { ...spec, clusterIP: ips[0]!, clusterIPs: ips }
  return { spec: withFamilies(named, families) }
}

function chooseAddress(range: AddressRange, pool: AllocationPool): string | undefined {
  const isFree = (index: number): boolean => pool.isFree(addressKey(range.at(index)))
  const index = pool.choose(range.size, isFree, staticBand(range.size, ADDRESS_BAND))
  return index === undefined ? undefined : range.at(index)
}

function outOfRange(range: AddressRange | undefined, ip: string): string | undefined {
  const parsed = parseIp(ip)
  if (parsed !== undefined && range?.contains(parsed) === true) return undefined
  const valid = range === undefined ? 'none of that family' : range.cidr
  return `failed to allocate IP ${ip}: the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${valid}`
}

function isAmong(addresses: readonly string[], ip: string): boolean {
  return addresses.some((one) => isSameAddress(one, ip))
}

/** The cause when the client names an address that another Service has. */
export function addressTakenCause(requested: readonly string[], ip: string): StatusCause {
  return clusterIPsCause(requested, `failed to allocate IP ${ip}: provided IP is already allocated`)
    .cause
}

function clusterIPsCause(
  requested: readonly string[],
  message: string,
): { readonly cause: StatusCause } {
  return { cause: invalidValue('spec.clusterIPs', requested, message) }
}

/** The families of a Service, the primary one first, or the fault of those that it names. */
type Families = { readonly families: readonly Family[] } | { readonly cause: StatusCause }

/**
 * Decides the families of a Service: those that it names, else those of its addresses, else the primary family
 * of the cluster, or all families of the cluster if it requests dual stack.
 */
function decideFamilies(
  spec: JsonObject,
  ips: readonly string[],
  configured: readonly Family[],
): Families {
  const named = familiesNamed(spec)
  const ofAddresses = ips.flatMap((ip) => {
    const parsed = parseLegacyIp(ip)
    return parsed === undefined ? [] : [familyOf(parsed)]
  })
  const odd = named.findIndex((family, at) => family !== (ofAddresses[at] ?? family))
  if (odd >= 0) {
    const message = `must be the family of spec.clusterIPs[${odd}], ${ips[odd]}`
    return { cause: invalidValue(`spec.ipFamilies[${odd}]`, NAMES[named[odd]!], message) }
  }
  const base = named.length >= ofAddresses.length ? named : ofAddresses
  const first = base.length > 0 ? base : configured.slice(0, 1)
  const policy = stringAt(spec, 'ipFamilyPolicy')
  const families = [...new Set(isDual(policy) ? [...first, ...configured] : first)]
  const cause = problemWith(families, policy, configured)
  return cause === undefined ? { families } : { cause }
}

/** The same for a headless Service. One without a selector has the families that it names, or both. */
function headlessFamilies(spec: JsonObject, configured: readonly Family[]): Families {
  if (Object.keys(objectAt(spec, 'selector')).length > 0)
    return decideFamilies(spec, [], configured)
  const named = familiesNamed(spec)
  const isSilent = named.length === 0 && stringAt(spec, 'ipFamilyPolicy') === ''
  if (isSilent) return { families: configured }
  return decideFamilies(spec, [], [...new Set([...configured, ...named])])
}

/** The spec with its families, and, if it has no family policy, with the one that they imply. */
function withFamilies(spec: JsonObject, families: readonly Family[]): JsonObject {
  const implied = families.length > 1 ? 'RequireDualStack' : 'SingleStack'
  return {
    ...spec,
    ipFamilies: families.map((family) => NAMES[family]),
    ipFamilyPolicy: stringAt(spec, 'ipFamilyPolicy') || implied,
  }
}

/** The families that the spec names, in its order. */
function familiesNamed(spec: JsonObject): readonly Family[] {
  return arrayAt(spec, 'ipFamilies').map((name): Family => (name === 'IPv6' ? 6 : 4))
}

function isDual(policy: string): boolean {
  return policy === 'PreferDualStack' || policy === 'RequireDualStack'
}

function problemWith(
  families: readonly Family[],
  policy: string,
  configured: readonly Family[],
): StatusCause | undefined {
  const message = 'this cluster has no Service range of that family'
  const missing = families.find((family) => !configured.includes(family))
  if (missing !== undefined) return invalidValue('spec.ipFamilies', NAMES[missing], message)
  if (policy === 'RequireDualStack' && families.length < 2) {
    return invalidValue('spec.ipFamilyPolicy', policy, message)
  }
  if (policy !== 'SingleStack' || families.length < 2) return undefined
  const dual = 'must be PreferDualStack or RequireDualStack for a Service of two families'
  return invalidValue('spec.ipFamilyPolicy', policy, dual)
}
