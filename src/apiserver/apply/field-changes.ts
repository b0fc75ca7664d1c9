import { isDeepEqual } from '../../lib/equal.ts'
import type { Json } from '../../lib/json.ts'
import { type FieldSet, isEmptySet, noFields, SELF } from './field-set.ts'
import { hasParts, type Part, partsOf, type Structure } from './structure.ts'

/** The fields in which two values differ. */
export interface FieldChanges {
  /** Fields that were added, or have another value. */
  readonly changed: FieldSet
  readonly removed: FieldSet
}

export function fieldChanges(structure: Structure, old: Json, next: Json): FieldChanges {
  const changed: Record<string, FieldSet> = {}
  const removed: Record<string, FieldSet> = {}
  const before = partsOf(structure, old)
  const after = partsOf(structure, next)
  for (const [element, part] of after) {
    const was = before.get(element)
    const change = was === undefined ? added(part) : partChanges(was, part)
    if (change.changed !== undefined) changed[element] = change.changed
    if (change.removed !== undefined) removed[element] = change.removed
  }
  for (const [element, part] of before) {
    if (!after.has(element)) removed[element] = wholeNode(part.structure, part.value)
  }
  return { changed, removed }
}

/** The nodes of one part in the two sets of `FieldChanges`; absent where the set has no field of the part. */
interface PartChanges {
  readonly changed?: FieldSet
  readonly removed?: FieldSet
}

function added(part: Part): PartChanges {
  return { changed: wholeNode(part.structure, part.value) }
}

/** A value that no longer has parts (an object that became null) is itself changed; its former parts are removed. */
function partChanges(was: Part, now: Part): PartChanges {
  const { structure } = now
  if (hasParts(structure, was.value) && hasParts(structure, now.value)) {
    const { changed, removed } = fieldChanges(structure, was.value, now.value)
    return {
      ...(isEmptySet(changed) ? {} : { changed }),
      ...(isEmptySet(removed) ? {} : { removed }),
    }
  }
  if (isDeepEqual(was.value, now.value)) return {}
  if (!hasParts(structure, was.value)) return { changed: noFields }
  return { changed: noFields, removed: fieldChanges(structure, was.value, null).removed }
}

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
function wholeNode(structure: Structure, value: Json): FieldSet {
  const inside: Record<string, FieldSet> = {}
  for (const [element, part] of partsOf(structure, value)) {
    inside[element] = wholeNode(part.structure, part.value)
  }
  return isEmptySet(inside) ? noFields : { [SELF]: noFields, ...inside }
}
