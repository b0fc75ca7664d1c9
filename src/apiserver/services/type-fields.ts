import { isDeepStrictEqual } from 'node:util'
import { arrayAt, type JsonObject, stringAt, valueAt, without } from '../../lib/json.ts'
import type { Filled } from './filled.ts'
import { invalidValue } from './invalid-value.ts'

interface TypeField {
  readonly name: string
  readonly isOf: (spec: JsonObject) => boolean
  /** Of which Services the field is. */
  readonly where: string
}

const FIELDS: readonly TypeField[] = [
  {
    name: 'externalTrafficPolicy',
    isOf: isExternal,
    where: 'of type NodePort or LoadBalancer, or with externalIPs',
  },
  {
    name: 'healthCheckNodePort',
    isOf: (spec) => isBalanced(spec) && stringAt(spec, 'externalTrafficPolicy') === 'Local',
    where: 'of type LoadBalancer with externalTrafficPolicy Local',
  },
  { name: 'allocateLoadBalancerNodePorts', isOf: isBalanced, where: 'of type LoadBalancer' },
  { name: 'loadBalancerClass', isOf: isBalanced, where: 'of type LoadBalancer' },
  { name: 'loadBalancerSourceRanges', isOf: isBalanced, where: 'of type LoadBalancer' },
]

/**
 * Fields that mean nothing in a Service of this type. Who changes the type and
 * leaves them as they were loses them; who asks for them is refused.
 */
export function dropTypeFields(spec: JsonObject, old: JsonObject): Filled {
  const foreign = FIELDS.filter(({ name, isOf }) => isGiven(spec, name) && !isOf(spec))
  const asked = foreign.find(({ name }) => !isDeepStrictEqual(spec[name], old[name]))
  if (asked !== undefined) {
    const message = `may only be set for a Service ${asked.where}`
    return { cause: invalidValue(`spec.${asked.name}`, spec[asked.name], message) }
  }
  const left = isLeftName(spec, old) ? ['externalName'] : []
  return { spec: without(spec, ...foreign.map(({ name }) => name), ...left) }
}

/** Clients may give any Service an external name; one that was of the type goes with it. */
function isLeftName(spec: JsonObject, old: JsonObject): boolean {
  const isNamed = (one: JsonObject): boolean => stringAt(one, 'type') === 'ExternalName'
  return isNamed(old) && !isNamed(spec) && spec['externalName'] === old['externalName']
}

function isGiven(spec: JsonObject, name: string): boolean {
  const value = valueAt(spec, name)
  const isEmpty = Array.isArray(value) && value.length === 0
  return !isEmpty && !['', 0, undefined].some((none) => value === none)
}

function isBalanced(spec: JsonObject): boolean {
  return stringAt(spec, 'type') === 'LoadBalancer'
}

function isExternal(spec: JsonObject): boolean {
  const type = stringAt(spec, 'type')
  if (type === 'ClusterIP') return arrayAt(spec, 'externalIPs').length > 0
  return type === 'NodePort' || type === 'LoadBalancer'
}
