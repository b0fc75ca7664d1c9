import { isDeepEqual } from '../../../../lib/equal.ts'
import {
  arrayAt,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
  without,
} from '../../../../lib/json.ts'
import { NAMES } from '../../../../resources/names.ts'
import { forbiddenValue, invalidValue } from '../../../status/causes.ts'
import type { StatusCause } from '../../../status/status.ts'
import type { Filled } from './filled.ts'

interface TypeField {
  readonly name: string
  readonly isOf: (spec: JsonObject) => boolean
  /** Why a Service of another type may not have it. */
  readonly refuse: (field: string, value: unknown) => StatusCause
}

const FIELDS: readonly TypeField[] = [
  {
    name: 'externalTrafficPolicy',
    isOf: isExternal,
    refuse: because('may only be set for externally-accessible services'),
  },
  {
    name: 'healthCheckNodePort',
    isOf: (spec) => isBalanced(spec) && stringAt(spec, 'externalTrafficPolicy') === 'Local',
    refuse: because(
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ),
  },
  { name: 'allocateLoadBalancerNodePorts', isOf: isBalanced, refuse: notBalanced },
  { name: 'loadBalancerClass', isOf: isBalanced, refuse: notBalanced },
  { name: 'loadBalancerSourceRanges', isOf: isBalanced, refuse: notBalanced },
]

/**
 * Fields that mean nothing in a Service of this type. Who changes the type and
 * leaves them as they were loses them; a write that sets them is refused. An
 * annotation is the client's own and is never taken away.
 */
export function dropTypeFields(service: JsonObject, old: JsonObject | undefined): Filled {
  const [spec, before] = [objectAt(service, 'spec'), objectAt(old, 'spec')]
  const foreign = FIELDS.filter(({ name, isOf }) => isGiven(spec, name) && !isOf(spec))
  const requested = foreign.find(({ name }) => !isDeepEqual(spec[name], before[name]))
  if (requested !== undefined)
    return { cause: requested.refuse(`spec.${requested.name}`, spec[requested.name]) }
  const annotation = isBalanced(spec) ? undefined : rangesAnnotation(service)
  if (annotation !== undefined) return { cause: notBalanced(`metadata.annotations[${annotation}]`) }
  const left = isLeftName(spec, before) ? ['externalName'] : []
  return { spec: without(spec, ...foreign.map(({ name }) => name), ...left) }
}

/** The annotation that says what `loadBalancerSourceRanges` says, under either name. */
function rangesAnnotation(service: JsonObject): string | undefined {
  const annotations = objectAt(service, 'metadata', 'annotations')
  return NAMES.sourceRanges.find((name) => Object.hasOwn(annotations, name))
}

function because(why: string): TypeField['refuse'] {
  return (field, value) => invalidValue(field, value, why)
}

function notBalanced(field: string): StatusCause {
  return forbiddenValue(field, "may only be used when `type` is 'LoadBalancer'")
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
