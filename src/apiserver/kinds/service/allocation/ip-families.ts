import { type Family, familyOf } from '../../../../lib/ip.ts'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../../../lib/json.ts'
import { parseLegacyIp } from '../../../../lib/legacy-address.ts'
import { invalidValue } from '../../../status/causes.ts'
import type { StatusCause } from '../../../status/status.ts'

const NAMES: Readonly<Record<Family, string>> = { 4: 'IPv4', 6: 'IPv6' }

/** The families of a Service, the primary one first, or what is wrong with those that it names. */
export type Families = { readonly families: readonly Family[] } | { readonly cause: StatusCause }

/**
 * Decides the families of a Service: those it names, else those of its
 * addresses, else the cluster's primary one; all of the cluster's if it wants two.
 */
export function decideFamilies(
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

/** The same of a headless Service; one without a selector has what its author says, or both. */
export function headlessFamilies(spec: JsonObject, configured: readonly Family[]): Families {
  if (Object.keys(objectAt(spec, 'selector')).length > 0)
    return decideFamilies(spec, [], configured)
  const named = familiesNamed(spec)
  const isSilent = named.length === 0 && stringAt(spec, 'ipFamilyPolicy') === ''
  if (isSilent) return { families: configured }
  return decideFamilies(spec, [], [...new Set([...configured, ...named])])
}

/** The spec with its families, and the policy that they imply when it names none. */
export function withFamilies(spec: JsonObject, families: readonly Family[]): JsonObject {
  const implied = families.length > 1 ? 'RequireDualStack' : 'SingleStack'
  return {
    ...spec,
    ipFamilies: families.map((family) => NAMES[family]),
    ipFamilyPolicy: stringAt(spec, 'ipFamilyPolicy') || implied,
  }
}

/** Those that the spec names, in its order. */
export function familiesNamed(spec: JsonObject): readonly Family[] {
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
