import { isJsonObject, type Json, type JsonObject, setOwn } from '../../lib/json.ts'
import { fieldElement } from './field-path.ts'
import { type FieldSet, fieldsAt, noFields } from './field-set.ts'
import { elementOf, type Part, partsOf, type Structure } from './structure.ts'

/** The parts that every object has: they lose fields, but never go. */
const OWN_PARTS: FieldSet = { 'f:metadata': noFields, 'f:spec': noFields, 'f:status': noFields }

/**
 * The object without the fields in `dropped` that are not in `kept`. A struct
 * or a list element goes as a whole when nothing of it is kept, with what the
 * server filled in; maps and lists lose entries only, and go when none is left.
 */
export function dropFields(
  structure: Structure,
  object: JsonObject,
  dropped: FieldSet,
  kept: FieldSet,
): JsonObject {
  return withoutFields(structure, object, dropped, { ...OWN_PARTS, ...kept }) as JsonObject
}

function withoutFields(structure: Structure, value: Json, dropped: FieldSet, kept: FieldSet): Json {
  const parts = partsOf(structure, value)
  const changed = new Map<string, Json | undefined>()
  for (const [element, node] of Object.entries(dropped)) {
    const part = parts.get(element)
    if (part === undefined) continue
    const keep = fieldsAt(kept, element)
    changed.set(element, without(part, node, keep && { ...keyFields(structure), ...keep }))
  }
  return rebuilt(structure, value, changed)
}

/** What is left of a part; undefined: nothing. */
function without(part: Part, node: FieldSet, keep: FieldSet | undefined): Json | undefined {
  const { structure, value } = part
  if (keep !== undefined) return withoutFields(structure, value, node, keep)
  if (structure.type === 'leaf' || structure.type === 'struct') return undefined
  if (typeof value !== 'object' || value === null) return undefined
  const rest = withoutFields(structure, value, node, noFields)
  return Object.keys(rest as object).length === 0 ? undefined : rest
}

/** The fields that identify an element, which it keeps. */
function keyFields(structure: Structure): FieldSet {
  if (structure.type !== 'list') return noFields
  return Object.fromEntries(structure.keys.map((key) => [fieldElement(key.name), noFields]))
}

function rebuilt(
  structure: Structure,
  value: Json,
  changed: ReadonlyMap<string, Json | undefined>,
): Json {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const element = elementOf(structure, item)
      if (element === undefined || !changed.has(element)) return [item]
      const left = changed.get(element)
      return left === undefined ? [] : [left]
    })
  }
  if (!isJsonObject(value)) return value
  const rest: JsonObject = {}
  for (const [name, part] of Object.entries(value)) {
    const element = fieldElement(name)
    const left = changed.has(element) ? changed.get(element) : part
    if (left !== undefined) setOwn(rest, name, left)
  }
  return rest
}
