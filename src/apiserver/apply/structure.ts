import { isJsonObject, type Json, type JsonObject, ownValue } from '../../lib/json.ts'
import { type Field, fieldsOf } from '../schema/schema.ts'
import { fieldElement, keyElement, valueElement } from './field-set.ts'
import { isAtomic, type ListKey, listTypeOf } from './list-types.ts'

/** How a value is divided into fields for ownership and merging. */
export type Structure =
  /** Owned as a whole: scalars and atomic values. */
  | { readonly type: 'leaf' }
  | { readonly type: 'struct'; readonly message: string }
  | { readonly type: 'map'; readonly values: Structure }
  | { readonly type: 'set' }
  | { readonly type: 'list'; readonly keys: readonly ListKey[]; readonly items: Structure }
  /** Not in the schema: objects are divided into fields, lists are not. */
  | { readonly type: 'unknown' }

/** A part of a value under its path element. */
export interface Part {
  readonly structure: Structure
  readonly value: Json
  /** A list element or a map entry, which is owned in addition to the fields inside it. */
  readonly isItem: boolean
}

const leaf: Structure = { type: 'leaf' }

export const unknownStructure: Structure = { type: 'unknown' }

/** The structure of a message; a leaf when it is atomic or not an object in JSON. */
export function structureOf(type: string): Structure {
  return isAtomic(type) || fieldsOf(type) === undefined ? leaf : { type: 'struct', message: type }
}

/** Whether the value has, or could have, parts. */
export function hasParts(structure: Structure, value: Json): boolean {
  const { type } = structure
  if (type === 'struct' || type === 'map' || type === 'unknown') return isJsonObject(value)
  return type !== 'leaf' && Array.isArray(value)
}

/** The parts of a value by path element; only the first of list elements with the same path element. */
export function partsOf(structure: Structure, value: Json): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>()
  if (isJsonObject(value)) {
    const isItem = structure.type === 'map'
    for (const [name, part] of Object.entries(value)) {
      const inside = memberStructure(structure, name)
      if (inside !== undefined)
        parts.set(fieldElement(name), { structure: inside, value: part, isItem })
    }
  } else if (Array.isArray(value)) {
    const inside = structure.type === 'list' ? structure.items : leaf
    for (const item of value) {
      const element = elementOf(structure, item)
      if (element === undefined || parts.has(element)) continue
      parts.set(element, { structure: inside, value: item, isItem: true })
    }
  }
  return parts
}

/** The path element of a list's item; undefined when it lacks a key or the list is atomic. */
export function elementOf(structure: Structure, item: Json): string | undefined {
  if (structure.type === 'set') return valueElement(item)
  if (structure.type !== 'list' || !isJsonObject(item)) return undefined
  const keys: JsonObject = {}
  for (const key of structure.keys) {
    const value = ownValue(item, key.name) ?? key.default
    if (value === undefined) return undefined
    keys[key.name] = value
  }
  return keyElement(keys)
}

/** The structure of a named member; undefined when the value has no such parts. */
export function memberStructure(structure: Structure, name: string): Structure | undefined {
  if (structure.type === 'map') return structure.values
  if (structure.type === 'unknown') return structure
  if (structure.type !== 'struct') return undefined
  const field = fieldsOf(structure.message)?.get(name)
  return field === undefined ? unknownStructure : fieldStructure(structure.message, field)
}

function fieldStructure(message: string, { name, shape, type }: Field): Structure {
  if (shape === 'map')
    return isAtomic(`${message}.${name}`) ? leaf : { type: 'map', values: structureOf(type) }
  if (shape !== 'repeated') return structureOf(type)
  const list = listTypeOf(message, name)
  if (list === undefined) return leaf
  return list.type === 'set' ? list : { type: 'list', keys: list.keys, items: structureOf(type) }
}
