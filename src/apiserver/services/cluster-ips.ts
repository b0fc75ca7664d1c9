import { type Family, familyOf, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt, without } from '../../lib/json.ts'
import type { StatusCause } from '../status.ts'
import type { AddressRange } from './address-range.ts'
import type { AllocationPool } from './allocation-pool.ts'
import { addressKey } from './claim.ts'

export interface AddressPolicy {
  readonly ranges: readonly AddressRange[]
  readonly pool: AllocationPool
}

/** A spec with its addresses filled in, or what is wrong with those it asks for. */
export type Filled = { readonly spec: JsonObject } | { readonly cause: StatusCause }

const FAMILY_NAMES: Readonly<Record<Family, string>> = { 4: 'IPv4', 6: 'IPv6' }

/**
 * Decides a Service's virtual addresses: those it asks for, else those it had,
 * else free ones of its families. ExternalName and headless Services have none.
 */
export function fillClusterIPs(sent: JsonObject, old: JsonObject, policy: AddressPolicy): Filled {
  const spec = keepFamilies(sent, old)
  if (stringAt(spec, 'type') === 'ExternalName') {
    return { spec: without(spec, 'clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy') }
  }
  const held = stringAt(old, 'type') === 'ExternalName' ? [] : stringsAt(old, 'clusterIPs')
  const asked = askedFor(spec)
  if ('cause' in asked) return asked
  const primary = asked.ips[0] ?? held[0]
  if (held[0] !== undefined && primary !== held[0])
    return clusterIPsCause(asked.ips, 'may not change once set')
  if (primary === 'None') return { spec: headless(spec, policy) }
  const families = wantedFamilies(spec, asked.ips.length > 0 ? asked.ips : held.slice(0, 1), policy)
  if ('cause' in families) return families
  return assign(spec, { asked: asked.ips, held, families: families.families }, policy)
}

/** Whoever says nothing about families leaves them as they were. */
function keepFamilies(spec: JsonObject, old: JsonObject): JsonObject {
  const fields = ['ipFamilies', 'ipFamilyPolicy'].filter((field) => Object.hasOwn(old, field))
  const silent = !['ipFamilies', 'ipFamilyPolicy', 'clusterIPs'].some((one) =>
    Object.hasOwn(spec, one),
  )
  if (!silent) return spec
  return { ...spec, ...Object.fromEntries(fields.map((field) => [field, old[field]!])) }
}

function askedFor(
  spec: JsonObject,
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
  return { ips: ips.map((ip) => parseIp(ip) ?? ip) }
}

function headless(spec: JsonObject, policy: AddressPolicy): JsonObject {
  const families = stringsAt(spec, 'ipFamilies')
  const fallback = policy.ranges.slice(0, 1).map((range) => FAMILY_NAMES[range.family])
  return {
    ...spec,
    clusterIP: 'None',
    clusterIPs: ['None'],
    ipFamilies: families.length > 0 ? families : fallback,
    ipFamilyPolicy:
      stringAt(spec, 'ipFamilyPolicy') ||
      (families.length > 1 ? 'RequireDualStack' : 'SingleStack'),
  }
}

function wantedFamilies(
  spec: JsonObject,
  ips: readonly string[],
  policy: AddressPolicy,
): { readonly families: readonly Family[] } | { readonly cause: StatusCause } {
  const configured = policy.ranges.map((range) => range.family)
  const named = stringsAt(spec, 'ipFamilies').map((name): Family => (name === 'IPv6' ? 6 : 4))
  const ofAddresses = ips.flatMap((ip) => {
    const parsed = parseIp(ip)
    return parsed === undefined ? [] : [familyOf(parsed)]
  })
  const base = named.length >= ofAddresses.length && named.length > 0 ? named : ofAddresses
  const first = base.length > 0 ? base : configured.slice(0, 1)
  const dual = ['PreferDualStack', 'RequireDualStack'].includes(stringAt(spec, 'ipFamilyPolicy'))
  const families = [...new Set(dual ? [...first, ...configured] : first)]
  const missing = families.find((family) => !configured.includes(family))
  const short = stringAt(spec, 'ipFamilyPolicy') === 'RequireDualStack' && families.length < 2
  if (missing === undefined && !short) return { families }
  const field = missing === undefined ? 'spec.ipFamilyPolicy' : 'spec.ipFamilies'
  const value = missing === undefined ? 'RequireDualStack' : FAMILY_NAMES[missing]
  return { cause: invalidValue(field, value, 'this cluster has no Service range of that family') }
}

interface Assignment {
  readonly asked: readonly string[]
  readonly held: readonly string[]
  readonly families: readonly Family[]
}

function assign(spec: JsonObject, assignment: Assignment, policy: AddressPolicy): Filled {
  const { asked, held, families } = assignment
  const ips: string[] = []
  for (const family of families) {
    const range = policy.ranges.find((one) => one.family === family)!
    const inFamily = (ip: string): boolean => ip.includes(':') === (family === 6)
    const wanted = asked.find(inFamily) ?? held.find(inFamily)
    const ip = wanted ?? chooseAddress(range, policy.pool)
    if (ip === undefined)
      return clusterIPsCause(asked, `failed to allocate an IP: range ${range.cidr} is full`)
    const problem = held.includes(ip) ? undefined : rangeProblem(range, ip)
    if (problem !== undefined) return clusterIPsCause(asked, problem)
    ips.push(ip)
  }
  const fallback = ips.length > 1 ? 'RequireDualStack' : 'SingleStack'
  return {
    spec: {
      ...spec,
      clusterIP: ips[0]!,
      clusterIPs: ips,
      ipFamilies: families.map((family) => FAMILY_NAMES[family]),
      ipFamilyPolicy: stringAt(spec, 'ipFamilyPolicy') || fallback,
    },
  }
}

function chooseAddress(range: AddressRange, pool: AllocationPool): string | undefined {
  const index = pool.choose(range.size, (one) => pool.isFree(addressKey(range.at(one))))
  return index === undefined ? undefined : range.at(index)
}

function rangeProblem(range: AddressRange, ip: string): string | undefined {
  const parsed = parseIp(ip)
  if (parsed !== undefined && range.contains(parsed)) return undefined
  return `failed to allocate IP ${ip}: the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range.cidr}`
}

/** The refusal of an address that was asked for and is somebody else's. */
export function addressTakenCause(asked: readonly string[], ip: string): StatusCause {
  return clusterIPsCause(asked, `failed to allocate IP ${ip}: provided IP is already allocated`)
    .cause
}

function clusterIPsCause(
  asked: readonly string[],
  message: string,
): { readonly cause: StatusCause } {
  return { cause: invalidValue('spec.clusterIPs', asked, message) }
}

export function invalidValue(field: string, value: unknown, message: string): StatusCause {
  const text = `Invalid value: ${JSON.stringify(value)}: ${message}`
  return { reason: 'FieldValueInvalid', message: text, field }
}

function stringsAt(object: JsonObject, field: string): string[] {
  return arrayAt(object, field).filter((value) => typeof value === 'string')
}
