import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from '../../lib/json.ts'
import { fieldChanges, fieldsOfValue } from './field-changes.ts'
import { type FieldSet, fieldElement, fieldsAt, noFields, union } from './field-set.ts'
import {
  type Conflict,
  conflictsOf,
  isSameOwner,
  type Owner,
  ownersAfterWrite,
  type Writer,
} from './owner.ts'
import {
  elementOf,
  hasParts,
  memberStructure,
  type Part,
  partsOf,
  type Structure,
  unknownStructure,
} from './structure.ts'

/** The parts that every object has: they can lose fields, but are never removed themselves. */
const OWN_PARTS: FieldSet = { 'f:metadata': noFields, 'f:spec': noFields, 'f:status': noFields }

/** The fields of an object that one client applies. */
export interface Application {
  readonly structure: Structure
  readonly live: JsonObject
  /** The part of the applied object that can be owned (`ownedPart`). */
  readonly applied: JsonObject
  readonly owners: readonly Owner[]
  readonly writer: Writer
  /** Whether the applier takes over fields of other owners instead of getting a conflict. */
  readonly force: boolean
  /** Fields of other owners that are never a conflict. */
  readonly free?: FieldSet
}

export type Applied =
  | { readonly object: JsonObject; readonly owners: readonly Owner[] }
  | { readonly conflicts: readonly Conflict[] }

/**
 * Server-side apply. The applied fields are merged into the live object; fields that the writer applied before
 * and now leaves out are removed, unless they have other owners. Changing a field of another owner is a
 * conflict; setting it to the same value makes the ownership shared.
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

/** The live value merged with the applied one; nothing is modified in place. */
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
 * The merged elements of a list. Applied elements take, in their order, the positions of the live elements with
 * the same keys; other elements keep their positions. A new element follows the applied element before it.
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
 * The object without the fields in `dropped` that are not in `kept`. A struct or a list element is removed
 * entirely when no owned field of it is kept, including fields that the server filled in. Maps and lists only
 * lose entries, and are removed when none is left.
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

/** The rest of a part; undefined: nothing is left. */
function without(part: Part, node: FieldSet, keep: FieldSet | undefined): Json | undefined {
  const { structure, value } = part
  if (keep !== undefined) return withoutFields(structure, value, node, keep)
  if (structure.type === 'leaf' || structure.type === 'struct') return undefined
  if (typeof value !== 'object' || value === null) return undefined
  const rest = withoutFields(structure, value, node, noFields)
  return Object.keys(rest as object).length === 0 ? undefined : rest
}

/** The fields that identify an element; they are kept. */
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
