import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from '../../lib/json.ts'
import { fieldChanges } from './field-changes.ts'
import { fieldElement } from './field-path.ts'
import { type FieldSet, fieldsAt, noFields, union } from './field-set.ts'
import { fieldsOfValue } from './fields-of-value.ts'
import { isSameOwner, type Owner } from './owner.ts'
import { type Conflict, conflictsOf, ownersAfterWrite, type Writer } from './ownership-change.ts'
import {
  elementOf,
  hasParts,
  memberStructure,
  type Part,
  partsOf,
  type Structure,
  unknownStructure,
} from './structure.ts'

/** The parts that every object has: they lose fields, but never go. */
const OWN_PARTS: FieldSet = { 'f:metadata': noFields, 'f:spec': noFields, 'f:status': noFields }

/** The fields of an object that one client applies. */
export interface Application {
  readonly structure: Structure
  readonly live: JsonObject
  /** Only what can be owned (`ownedPart`). */
  readonly applied: JsonObject
  readonly owners: readonly Owner[]
  readonly writer: Writer
  /** Whether fields of other owners are taken instead of being a conflict. */
  readonly force: boolean
  /** Fields of other owners that are never a conflict. */
  readonly free?: FieldSet
}

export type Applied =
  | { readonly object: JsonObject; readonly owners: readonly Owner[] }
  | { readonly conflicts: readonly Conflict[] }

/**
 * Server-side apply. The applied fields are merged into the live object; what
 * the writer applied before and now leaves out is removed, unless it has other owners.
 * Changing a field of another owner is a conflict; setting the same value is shared ownership.
 */
export function applyObject(application: Application): Applied {
  const { structure, live, applied, owners, writer, force } = application
  const fields = fieldsOfValue(structure, applied)
  const before = owners.find((owner) => isSameOwner(owner, writer))
  const others = owners.filter((owner) => owner !== before)
  const merged = mergeApplied(structure, live, applied) as JsonObject
  const kept = others.reduce((all, owner) => union(all, owner.fields), fields)
  const object = dropFields(structure, merged, before?.fields ?? {}, kept)
  const changes = fieldChanges(structure, live, object)
  const conflicts = force ? [] : conflictsOf(others, changes.changed, application.free)
  if (conflicts.length > 0) return { conflicts }
  return { object, owners: ownersAfterWrite(owners, { ...writer, fields }, changes) }
}

/** The live value with everything that is applied to it; nothing is modified in place. */
function mergeApplied(structure: Structure, live: Json | undefined, applied: Json): Json {
  if (live === undefined || !hasParts(structure, live) || !hasParts(structure, applied))
    return applied
  if (isJsonObject(live) && isJsonObject(applied)) return mergeMembers(structure, live, applied)
  return mergeItems(structure, live as readonly Json[], applied as readonly Json[])
}

function mergeMembers(structure: Structure, live: JsonObject, applied: JsonObject): Json {
  const merged = { ...live }
  for (const [name, value] of Object.entries(applied)) {
    const inside = memberStructure(structure, name) ?? unknownStructure
    setOwn(merged, name, mergeApplied(inside, ownValue(live, name), value))
  }
  return merged
}

/**
 * The applied elements in their order, at the positions of the live elements with the same keys;
 * other elements keep their positions. New ones follow the applied element before them.
 */
function mergeItems(
  structure: Structure,
  live: readonly Json[],
  applied: readonly Json[],
): readonly Json[] & Json {
  const items = structure.type === 'list' ? structure.items : structure
  const liveItems = new Map<string, Json>()
  for (const item of live) {
    const element = elementOf(structure, item)
    if (element !== undefined && !liveItems.has(element)) liveItems.set(element, item)
  }
  const elements = new Set(applied.map((item) => elementOf(structure, item)))
  const next = applied.map((item) =>
    mergeApplied(items, liveItems.get(elementOf(structure, item) ?? ''), item),
  )
  const isMet = live.map((item) => elements.has(elementOf(structure, item)))
  const last = isMet.lastIndexOf(true)
  const merged: Json[] = []
  let taken = 0
  for (const [index, item] of live.entries()) {
    if (!isMet[index]) merged.push(item)
    else if (index < last) merged.push(...next.slice(taken, ++taken))
    else merged.push(...next.slice(taken))
  }
  return last < 0 ? [...merged, ...next] : merged
}

/**
 * The object without the fields in `dropped` that are not in `kept`. A struct
 * or a list element goes as a whole when nothing of it is kept, with what the
 * server filled in; maps and lists lose entries only, and go when none is left.
 */
function dropFields(
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
