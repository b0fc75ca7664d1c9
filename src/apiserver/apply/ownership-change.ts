import { isDeepEqual } from '../../lib/equal.ts'
import type { FieldChanges } from './field-changes.ts'
import {
  difference,
  type FieldSet,
  intersection,
  isEmptySet,
  membersOf,
  noFields,
  union,
} from './field-set.ts'
import { isSameOwner, type Owner } from './owner.ts'

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
