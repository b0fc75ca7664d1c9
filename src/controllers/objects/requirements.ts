import { arrayAt, type Json, objectAt, stringAt, stringsAt, valueAt } from '../../lib/json.ts'
import { ownValue, readStrings, type StringMap } from './object-meta.ts'

/** What labels have to be: an entry of `matchExpressions`, or one of `matchLabels`. */
export interface Requirement {
  readonly key: string
  /** In, NotIn, Exists or DoesNotExist. */
  readonly operator: string
  readonly values: readonly string[]
}

/** All of them have to hold. Undefined: nothing is selected. */
export type Requirements = readonly Requirement[] | undefined

/** Labels that have to have these values. */
export function equalities(labels: StringMap): readonly Requirement[] {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: 'In', values: [value] }))
}

function readExpressions(list: readonly Json[]): readonly Requirement[] {
  return list.map((one) => ({
    key: stringAt(one, 'key'),
    operator: stringAt(one, 'operator'),
    values: stringsAt(one, 'values'),
  }))
}

/** Reads a LabelSelector. An absent one selects nothing, an empty one everything. */
export function readSelector(selector: Json | undefined): Requirements {
  if (selector === undefined || selector === null) return undefined
  return [
    ...equalities(readStrings(objectAt(selector, 'matchLabels'))),
    ...readExpressions(arrayAt(selector, 'matchExpressions')),
  ]
}

/** Whether labels meet all requirements. */
export function meets(labels: StringMap, requirements: Requirements): boolean {
  if (requirements === undefined) return false
  for (const one of requirements) if (!meetsOne(labels, one)) return false
  return true
}

function meetsOne(labels: StringMap, { key, operator, values }: Requirement): boolean {
  const value = ownValue(labels, key)
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return false
  }
}

/** A term of an affinity to Pods: Pods by namespace and labels, and what counts as the same place. */
export interface PodTerm {
  /** The label of Nodes whose value is the place. */
  readonly topologyKey: string
  readonly namespaces: readonly string[]
  /** More namespaces, by their labels. */
  readonly namespaceSelector: Requirements
  readonly selector: Requirements
}

/** A term of a Pod in this namespace, where Pods are selected if the term names no namespaces. */
export function readPodTerm(term: Json | undefined, namespace: string): PodTerm {
  const named = [...new Set(stringsAt(term, 'namespaces'))]
  const namespaceSelector = readSelector(valueAt(term, 'namespaceSelector'))
  return {
    topologyKey: stringAt(term, 'topologyKey'),
    namespaces: named.length === 0 && namespaceSelector === undefined ? [namespace] : named,
    namespaceSelector,
    selector: readSelector(valueAt(term, 'labelSelector')),
  }
}
