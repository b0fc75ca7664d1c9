import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  stringsAt,
  valueAt,
} from '../../../lib/json.ts'
import { NODE_TAINTS, type NodeObject, type Taint } from '../../objects/node-object.ts'
import { ownValue } from '../../objects/object-meta.ts'
import { REQUIRED_AFFINITY } from '../../objects/pod-object.ts'

const UNSCHEDULABLE = NODE_TAINTS.unschedulable
const INTEGER = /^[+-]?\d+$/

/**
 * Whether a Pod may be on a node by `nodeSelector` and the required node affinity of its spec. Taints are not regarded:
 * see `untoleratedTaint`. Requirements that Kubernetes cannot evaluate match no node.
 */
export function nodeSelection(podSpec: JsonObject): (node: NodeObject) => boolean {
  const wanted = Object.entries(objectAt(podSpec, 'nodeSelector'))
  const required = valueAt(podSpec, 'affinity', 'nodeAffinity', REQUIRED_AFFINITY)
  const terms = arrayAt(required, 'nodeSelectorTerms')
  return (node) =>
    wanted.every(([key, value]) => ownValue(node.meta.labels, key) === value) &&
    (!isJsonObject(required) || terms.some((term) => matchesTerm(term, node)))
}

/** The required node affinity of a Pod that belongs on one node, beside the affinity that its spec has already. */
export function affinityToNode(podSpec: JsonObject, nodeName: string): JsonObject {
  const affinity = objectAt(podSpec, 'affinity')
  const nodeAffinity = objectAt(affinity, 'nodeAffinity')
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }]
  const required = { nodeSelectorTerms: [{ matchFields }] }
  return { ...affinity, nodeAffinity: { ...nodeAffinity, [REQUIRED_AFFINITY]: required } }
}

/**
 * The first taint of a node, with one of these effects, that no toleration covers; undefined: there is none. A node with
 * `spec.unschedulable` has a taint for that, too.
 */
export function untoleratedTaint(
  node: NodeObject,
  tolerations: readonly Json[],
  effects: readonly string[],
): Taint | undefined {
  return taintsOf(node).find(
    (taint) => effects.includes(taint.effect) && !isTolerated(taint, tolerations),
  )
}

function taintsOf({ taints, unschedulable }: NodeObject): readonly Taint[] {
  const isCovered = !unschedulable || taints.some(({ key }) => key === UNSCHEDULABLE)
  return isCovered ? taints : [...taints, { key: UNSCHEDULABLE, value: '', effect: 'NoSchedule' }]
}

/** Whether one of the tolerations covers a taint. */
export function isTolerated(taint: Taint, tolerations: readonly Json[]): boolean {
  return tolerations.some((one) => tolerates(one, taint))
}

/** Whether a toleration covers a taint. Without an effect or key it covers all of them. */
export function tolerates(toleration: Json, { key, value, effect }: Taint): boolean {
  const [wantedKey, wantedEffect] = [stringAt(toleration, 'key'), stringAt(toleration, 'effect')]
  if (wantedEffect !== '' && wantedEffect !== effect) return false
  if (wantedKey !== '' && wantedKey !== key) return false
  const operator = stringAt(toleration, 'operator') || 'Equal'
  return operator === 'Exists' || (operator === 'Equal' && stringAt(toleration, 'value') === value)
}

/** A term of a node selector: all its requirements hold. One without requirements matches no node. */
export function matchesTerm(term: Json, node: NodeObject): boolean {
  const expressions = arrayAt(term, 'matchExpressions')
  const fields = arrayAt(term, 'matchFields')
  return (
    expressions.length + fields.length > 0 &&
    expressions.every((one) => holds(one, ownValue(node.meta.labels, stringAt(one, 'key')))) &&
    fields.every((one) => fieldHolds(one, node.meta.name))
  )
}

/** The only field of a node that can be matched is its name, and with exactly one other. */
function fieldHolds(requirement: Json, name: string): boolean {
  const isName = stringAt(requirement, 'key') === 'metadata.name'
  const isKnown = ['In', 'NotIn'].includes(stringAt(requirement, 'operator'))
  const isSingle = arrayAt(requirement, 'values').length === 1
  return isName && isKnown && isSingle && holds(requirement, name)
}

function holds(requirement: Json, value: string | undefined): boolean {
  const values = stringsAt(requirement, 'values')
  switch (stringAt(requirement, 'operator')) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return values.length > 0 && (value === undefined || !values.includes(value))
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return isOrdered(values, value, (limit, number) => number > limit)
    case 'Lt':
      return isOrdered(values, value, (limit, number) => number < limit)
    default:
      return false
  }
}

function isOrdered(
  values: readonly string[],
  value: string | undefined,
  compare: (limit: bigint, number: bigint) => boolean,
): boolean {
  const [limit, number] = [integer(values.length === 1 ? values[0] : undefined), integer(value)]
  return limit !== undefined && number !== undefined && compare(limit, number)
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && INTEGER.test(text) ? BigInt(text.replace('+', '')) : undefined
}
