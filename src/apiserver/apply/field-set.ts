import { type Json, type JsonObject, ownValue, scalarText } from '../../lib/json.ts'

/**
 * A set of fields in Kubernetes' encoding, FieldsV1, which this code also computes with: a tree whose keys are
 * path elements (`fieldElement`, `valueElement`, `keyElement`). A node without children stands for the field itself; one with children does
 * so only if `.` is among them. The root stands for no field: `{}` is the empty set.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet
}

/** Marks a node with children as a member of its set. */
export const SELF = '.'

export const noFields: FieldSet = {}

export function isEmptySet(set: FieldSet): boolean {
  return Object.keys(set).length === 0
}

/** Whether the field itself belongs to the set, and not only fields inside it. */
function isMember(node: FieldSet): boolean {
  return Object.hasOwn(node, SELF) || isEmptySet(node)
}

/** The node below `element`. */
export function fieldsAt(set: FieldSet, element: string): FieldSet | undefined {
  return Object.hasOwn(set, element) ? set[element] : undefined
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  const both = { ...a }
  for (const [element, node] of Object.entries(b)) {
    const other = fieldsAt(a, element)
    if (element === SELF || other === undefined) both[element] = node
    else both[element] = joined(isMember(node) || isMember(other), union(other, node))!
  }
  return both
}

/** The fields that are in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combined(a, (element, node) => {
    const other = fieldsAt(b, element)
    if (other === undefined) return undefined
    return joined(isMember(node) && isMember(other), intersection(node, other))
  })
}

/** The fields that are in `a` and not in `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combined(a, (element, node) => {
    const other = fieldsAt(b, element)
    if (other === undefined) return node
    return joined(isMember(node) && !isMember(other), difference(node, other))
  })
}

/** The paths of all members, in order. */
export function* membersOf(
  set: FieldSet,
  path: readonly string[] = [],
): Generator<readonly string[]> {
  for (const [element, node] of Object.entries(set)) {
    if (element === SELF) continue
    const inside = [...path, element]
    if (isMember(node)) yield inside
    yield* membersOf(node, inside)
  }
}

function combined(
  set: FieldSet,
  combine: (element: string, node: FieldSet) => FieldSet | undefined,
): FieldSet {
  const result: Record<string, FieldSet> = {}
  for (const [element, node] of Object.entries(set)) {
    const kept = element === SELF ? undefined : combine(element, node)
    if (kept !== undefined) result[element] = kept
  }
  return result
}

/** A node with these children; undefined when it contains no field. */
function joined(member: boolean, children: FieldSet): FieldSet | undefined {
  const { [SELF]: _self, ...inside } = children
  if (isEmptySet(inside)) return member ? noFields : undefined
  return member ? { [SELF]: noFields, ...inside } : inside
}

/**
 * One step of a path in a field set: `f:name` a field or map entry,
 * `k:{"port":80}` the list element with these keys, `v:"x"` the set element.
 */
const ELEMENT = /^(?:\.|f:.*|[kvi]:.+)$/s

export function isElement(text: string): boolean {
  return ELEMENT.test(text)
}

export function fieldElement(name: string): string {
  return `f:${name}`
}

export function valueElement(value: Json): string {
  return `v:${JSON.stringify(value)}`
}

/** The element of a list item with these keys, in alphabetical order. */
export function keyElement(keys: JsonObject): string {
  return `k:${JSON.stringify(keys)}`
}

/** A path as people read it: `.spec.ports[port=80,protocol="TCP"].name`. */
export function pathText(path: readonly string[]): string {
  return path.map(elementText).join('')
}

function elementText(element: string): string {
  const text = element.slice(2)
  if (element.startsWith('f:')) return `.${text}`
  if (element.startsWith('v:')) return `[=${text}]`
  if (element.startsWith('i:')) return `[${text}]`
  const keys = JSON.parse(text) as JsonObject
  const pairs = Object.keys(keys).map((key) => `${key}=${quoted(ownValue(keys, key))}`)
  return `[${pairs.join(',')}]`
}

function quoted(value: Json | undefined): string {
  return typeof value === 'string' ? JSON.stringify(value) : scalarText(value)
}
