import type { JsonObject } from '../../lib/json.ts'
import { dropFields } from './drop-fields.ts'
import { fieldChanges } from './field-changes.ts'
import { type FieldSet, union } from './field-set.ts'
import { fieldsOfValue } from './fields-of-value.ts'
import { mergeApplied } from './merge-applied.ts'
import { isSameOwner, type Owner } from './owner.ts'
import { type Conflict, conflictsOf, ownersAfterWrite, type Writer } from './ownership-change.ts'
import type { Structure } from './structure.ts'

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
