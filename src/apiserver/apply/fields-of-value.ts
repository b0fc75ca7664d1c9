import type { Json } from '../../lib/json.ts'
import { type FieldSet, isEmptySet, noFields, SELF } from './field-set.ts'
import { partsOf, type Structure } from './structure.ts'

/** The fields that a value sets: the fields that its applier owns. */
export function fieldsOfValue(structure: Structure, value: Json): FieldSet {
  const set: Record<string, FieldSet> = {}
  for (const [element, part] of partsOf(structure, value)) {
    const inside = fieldsOfValue(part.structure, part.value)
    set[element] = part.isItem && !isEmptySet(inside) ? { [SELF]: noFields, ...inside } : inside
  }
  return set
}

/**
 * The node of a value that is added or removed as a whole; it also contains the value's maps, structs and lists
 * themselves.
 */
export function wholeNode(structure: Structure, value: Json): FieldSet {
  const inside: Record<string, FieldSet> = {}
  for (const [element, part] of partsOf(structure, value)) {
    inside[element] = wholeNode(part.structure, part.value)
  }
  return isEmptySet(inside) ? noFields : { [SELF]: noFields, ...inside }
}
