import {
  isJsonObject,
  type Json,
  type JsonObject,
  ownValue,
  setOwn,
  stringAt,
} from '../../lib/json.ts'
import { type ListRule, listRule } from './merge-keys.ts'

const ORDER = '$setElementOrder/'
const DELETE_VALUES = '$deleteFromPrimitiveList/'
const RETAIN = '$retainKeys'

/** A merged document, or the problem of the patch. */
export type Merged<T> = { readonly value: T } | { readonly problem: string }

/**
 * A strategic merge patch: like RFC 7396, but lists that have a merge key are merged element by element, and
 * directives (`$patch`, `$retainKeys`, `$setElementOrder/…`, `$deleteFromPrimitiveList/…`) control the merge.
 */
export function strategicMerge(
  kind: string,
  target: JsonObject,
  patch: JsonObject,
): Merged<JsonObject> {
  return mergeObject({ kind, path: '' }, target, patch)
}

/** The location of a value: the kind of the object, and the path of fields in it. */
interface FieldLocation {
  readonly kind: string
  readonly path: string
}

function inside(location: FieldLocation, key: string): FieldLocation {
  return { kind: location.kind, path: location.path === '' ? key : `${location.path}.${key}` }
}

function mergeObject(
  location: FieldLocation,
  target: JsonObject,
  patch: JsonObject,
): Merged<JsonObject> {
  const directive = ownValue(patch, '$patch')
  if (directive === 'replace') return { value: withoutDirectives(patch) }
  if (directive === 'delete') return { value: {} }
  if (directive !== undefined && directive !== 'merge') return unknown('$patch', directive)
  const result: JsonObject = retained(target, ownValue(patch, RETAIN))
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(DELETE_VALUES)) {
      const list = key.slice(DELETE_VALUES.length)
      setOwn(result, list, remaining(ownValue(result, list), value))
    }
    if (key.startsWith('$')) continue
    if (value === null) {
      delete result[key]
      continue
    }
    const merged = mergeValue(inside(location, key), ownValue(result, key), value)
    if ('problem' in merged) return merged
    setOwn(result, key, merged.value)
  }
  return applyOrders(location, result, patch)
}

function mergeValue(location: FieldLocation, target: Json | undefined, value: Json): Merged<Json> {
  if (isJsonObject(value)) return mergeObject(location, isJsonObject(target) ? target : {}, value)
  if (!Array.isArray(value)) return { value }
  const rule = listRule(location.kind, location.path)
  if (rule === undefined) return { value: value.filter((one) => !isDirectiveOnly(one)) }
  return mergeList(location, Array.isArray(target) ? target : [], value, rule)
}

function mergeList(
  location: FieldLocation,
  target: readonly Json[],
  patch: readonly Json[],
  rule: ListRule,
): Merged<Json> {
  const { key } = rule
  if (key === undefined) {
    const known = new Set(target)
    return { value: [...target, ...patch.filter((one) => !known.has(one))] }
  }
  if (patch.some((one) => isDirectiveOnly(one) && stringAt(one, '$patch') === 'replace')) {
    return { value: patch.filter((one) => !isDirectiveOnly(one)) }
  }
  const elements = new KeyedElements(target, key)
  for (const one of patch) {
    if (!isJsonObject(one)) return { problem: `${location.path}: an element is not an object` }
    const id = ownValue(one, key)
    if (id === undefined)
      return { problem: `${location.path}: an element lacks its merge key ${JSON.stringify(key)}` }
    if (ownValue(one, '$patch') === 'delete') {
      elements.delete(id)
      continue
    }
    const merged = mergeObject(location, elements.get(id) ?? {}, one)
    if ('problem' in merged) return merged
    elements.set(id, merged.value)
  }
  return { value: elements.list() }
}

/** Sorts elements by the given order; elements that it does not name follow in their present order. */
function applyOrders(
  location: FieldLocation,
  object: JsonObject,
  patch: JsonObject,
): Merged<JsonObject> {
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(ORDER)) continue
    const field = directive.slice(ORDER.length)
    const list = ownValue(object, field)
    if (!Array.isArray(order)) return unknown(directive, order)
    if (!Array.isArray(list)) continue
    const key = listRule(location.kind, inside(location, field).path)?.key
    const idOf = (one: Json): Json =>
      key !== undefined && isJsonObject(one) ? (ownValue(one, key) ?? null) : one
    const textOf = (one: Json): string => JSON.stringify(idOf(one))
    const ranks = new Map(order.map((one, index) => [textOf(one), index] as const))
    const ranked = list.map((one) => ({ one, rank: ranks.get(textOf(one)) ?? order.length }))
    setOwn(
      object,
      field,
      ranked.sort((a, b) => a.rank - b.rank).map(({ one }) => one),
    )
  }
  return { value: object }
}

function retained(target: JsonObject, keys: Json | undefined): JsonObject {
  if (!Array.isArray(keys)) return { ...target }
  const kept = new Set(keys)
  return Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key)))
}

function remaining(list: Json | undefined, gone: Json): Json {
  const values = new Set(Array.isArray(gone) ? gone : [])
  return Array.isArray(list) ? list.filter((one) => !values.has(one)) : []
}

function withoutDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith('$')))
}

function isDirectiveOnly(value: Json): boolean {
  return isJsonObject(value) && Object.keys(value).length === 1 && Object.hasOwn(value, '$patch')
}

function unknown(directive: string, value: Json): { readonly problem: string } {
  return { problem: `unknown value of ${directive}: ${JSON.stringify(value).slice(0, 80)}` }
}

/** A list whose elements are identified by one of their fields; of elements with the same id only the first is used. */
export class KeyedElements {
  /** Undefined: deleted. */
  readonly #elements: (Json | undefined)[]
  readonly #key: string
  /** The index of the first element with each id. */
  readonly #indexes = new Map<Json, number>()

  constructor(elements: readonly Json[], key: string) {
    this.#elements = [...elements]
    this.#key = key
    for (let index = elements.length - 1; index >= 0; index--) this.#note(index)
  }

  get(id: Json): JsonObject | undefined {
    const element = this.#elements[this.#indexes.get(id) ?? -1]
    return isJsonObject(element) ? element : undefined
  }

  /** Replaces the element with this id at its position; a new element is appended. */
  set(id: Json, element: JsonObject): void {
    const index = this.#indexes.get(id) ?? this.#elements.length
    this.#elements[index] = element
    this.#indexes.set(id, index)
  }

  delete(id: Json): void {
    const index = this.#indexes.get(id)
    if (index === undefined) return
    this.#elements[index] = undefined
    this.#indexes.delete(id)
  }

  list(): Json[] {
    return this.#elements.filter((element) => element !== undefined)
  }

  #note(index: number): void {
    const element = this.#elements[index]
    const id = isJsonObject(element) ? ownValue(element, this.#key) : undefined
    if (id !== undefined) this.#indexes.set(id, index)
  }
}
