import { isJsonObject, type Json } from '../../lib/json.ts'
import { fieldsOf } from '../schema/schema.ts'
import { pathText } from './field-path.ts'
import { elementOf, partsOf, type Structure } from './structure.ts'

/**
 * Why an applied object cannot be owned field by field: fields that its type
 * does not have, and list elements with the same key.
 */
export function appliedProblems(
  structure: Structure,
  value: Json,
  path: readonly string[] = [],
): readonly string[] {
  const own = [...unknownFields(structure, value), ...elementProblems(structure, value)]
  const inside = [...partsOf(structure, value)].flatMap(([element, part]) =>
    appliedProblems(part.structure, part.value, [...path, element]),
  )
  return [...own.map((problem) => `${pathText(path)}${problem}`), ...inside]
}

function unknownFields(structure: Structure, value: Json): readonly string[] {
  if (structure.type !== 'struct' || !isJsonObject(value)) return []
  const fields = fieldsOf(structure.message)
  const unknown = Object.keys(value).filter((name) => fields?.has(name) !== true)
  return unknown.map((name) => `.${name}: field not declared in schema`)
}

function elementProblems(structure: Structure, value: Json): readonly string[] {
  if ((structure.type !== 'list' && structure.type !== 'set') || !Array.isArray(value)) return []
  const seen = new Set<string>()
  return value.flatMap((item, index) => {
    const element = elementOf(structure, item)
    if (element === undefined) return [`: element ${index}: ${missingKeys(structure, item)}`]
    if (seen.has(element)) return [`: duplicate entries for ${pathText([element])}`]
    seen.add(element)
    return []
  })
}

function missingKeys(structure: Structure, item: Json): string {
  if (structure.type !== 'list' || !isJsonObject(item)) return 'it must be an object'
  const missing = structure.keys.filter(
    (key) => key.default === undefined && !Object.hasOwn(item, key.name),
  )
  const names = missing.map((key) => JSON.stringify(key.name)).join(', ')
  return `associative list with keys has an element that omits key field ${names}`
}
