import { isDeepEqual } from '../../lib/equal.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from '../../lib/json.ts'
import type { FieldChanges } from './field-changes.ts'
import {
  difference,
  type FieldSet,
  intersection,
  isElement,
  isEmptySet,
  membersOf,
  noFields,
  union,
} from './field-set.ts'

/** An owner and its fields: an entry of `metadata.managedFields`. */
export interface Owner extends OwnerName {
  readonly apiVersion: string
  /** RFC 3339; empty when unknown. */
  readonly time: string
  readonly fields: FieldSet
}

/** What identifies an owner. */
interface OwnerName {
  /** The client's `fieldManager`. */
  readonly name: string
  readonly operation: 'Apply' | 'Update'
  readonly subresource: string
}

export function isSameOwner(a: OwnerName, b: OwnerName): boolean {
  return a.name === b.name && a.operation === b.operation && a.subresource === b.subresource
}

/**
 * The owners in the managedFields of an object; undefined when it has none, or they are not in the encoding
 * FieldsV1.
 */
export function readOwners(object: JsonObject | undefined): readonly Owner[] | undefined {
  const owners = arrayAt(object, 'metadata', 'managedFields').map(readOwner)
  return owners.length > 0 && owners.every((owner) => owner !== undefined) ? owners : undefined
}

/** Whether the object clears all owners: `managedFields: [{}]`. */
export function forgetsOwners(object: JsonObject): boolean {
  const entries = arrayAt(object, 'metadata', 'managedFields')
  const [first] = entries
  return entries.length === 1 && isJsonObject(first) && Object.keys(first).length === 0
}

/** The object with these owners as the last field of its metadata. */
export function withOwners(object: JsonObject, owners: readonly Owner[]): JsonObject {
  const { managedFields: _old, ...metadata } = objectAt(object, 'metadata')
  if (owners.length === 0) return { ...object, metadata }
  const managedFields = owners.toSorted(compareOwners).map(entryOf)
  return { ...object, metadata: { ...metadata, managedFields } }
}

function readOwner(entry: Json): Owner | undefined {
  const operation = stringAt(entry, 'operation')
  const fields = objectAt(entry, 'fieldsV1')
  if (operation !== 'Apply' && operation !== 'Update') return undefined
  if (stringAt(entry, 'fieldsType') !== 'FieldsV1' || !isFieldSet(fields)) return undefined
  return {
    name: stringAt(entry, 'manager'),
    operation,
    subresource: stringAt(entry, 'subresource'),
    apiVersion: stringAt(entry, 'apiVersion'),
    time: stringAt(entry, 'time'),
    fields,
  }
}

function isFieldSet(value: Json): value is JsonObject & FieldSet {
  if (!isJsonObject(value)) return false
  return Object.entries(value).every(([element, node]) => isElement(element) && isFieldSet(node))
}

function entryOf(owner: Owner): JsonObject {
  const { name, operation, subresource, apiVersion, time, fields } = owner
  return {
    manager: name,
    operation,
    apiVersion,
    ...(time === '' ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(subresource === '' ? {} : { subresource }),
  }
}

/** Appliers before updaters, then by age and name. */
function compareOwners(a: Owner, b: Owner): number {
  const order = (owner: Owner): readonly string[] => [
    owner.operation,
    owner.time,
    owner.name,
    owner.subresource,
  ]
  const [left, right] = [order(a), order(b)]
  const at = left.findIndex((text, index) => text !== right[index])
  return at < 0 ? 0 : left[at]! < right[at]! ? -1 : 1
}

/** A field of another owner that an applied object would change. */
export interface Conflict {
  readonly owner: Owner
  readonly path: readonly string[]
}

/** The owner that a request writes as. */
export type Writer = Omit<Owner, 'fields'>

/** The changed fields that these owners own, apart from the free ones. */
export function conflictsOf(
  owners: readonly Owner[],
  changed: FieldSet,
  free: FieldSet = noFields,
): readonly Conflict[] {
  return owners.flatMap((owner) => {
    const taken = difference(intersection(owner.fields, changed), free)
    return [...membersOf(taken)].map((path) => ({ owner, path }))
  })
}

/** The owners after an update: the writer takes the changed fields from the other owners. */
export function ownersAfterUpdate(
  owners: readonly Owner[],
  writer: Writer,
  changes: FieldChanges,
): readonly Owner[] {
  const old = owners.find((owner) => isSameOwner(owner, writer))
  const fields = union(difference(old?.fields ?? noFields, changes.removed), changes.changed)
  return ownersAfterWrite(owners, { ...writer, fields }, changes)
}

/**
 * The owners after a write that leaves the writer with these fields. A write
 * that changes nothing leaves all times as they are.
 */
export function ownersAfterWrite(
  owners: readonly Owner[],
  writer: Owner,
  { changed, removed }: FieldChanges,
): readonly Owner[] {
  const old = owners.find((owner) => isSameOwner(owner, writer))
  const isIdle = isEmptySet(changed) && isDeepEqual(old?.fields, writer.fields)
  const others = owners
    .filter((owner) => owner !== old)
    .map((owner) => {
      const fields = difference(difference(owner.fields, changed), removed)
      return { ...owner, fields }
    })
  const all = [...others, old !== undefined && isIdle ? old : writer]
  return all.filter((owner) => !isEmptySet(owner.fields))
}
