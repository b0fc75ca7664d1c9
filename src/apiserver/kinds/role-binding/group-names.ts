import { arrayAt, isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { canonicalGroup, RBAC_GROUP } from '../../../resources/api-groups.ts'

const ORCH_GROUP = 'rbac.authorization.orch.io'

/** A binding whose role and subjects name the RBAC group as it is stored, whichever name was sent. */
export function canonicalBinding(binding: JsonObject): JsonObject {
  return renameGroups(binding, canonicalGroup)
}

/** The stored binding as the served version of our own group shows it. */
export function bindingOfOrch(binding: JsonObject): JsonObject {
  return renameGroups(binding, (group) => (group === RBAC_GROUP ? ORCH_GROUP : group))
}

function renameGroups(binding: JsonObject, rename: (group: string) => string): JsonObject {
  const renamed = (reference: Json): Json => {
    if (!isJsonObject(reference)) return reference
    const group = reference['apiGroup']
    return typeof group === 'string' ? { ...reference, apiGroup: rename(group) } : reference
  }
  const { roleRef, subjects } = binding
  return {
    ...binding,
    ...(roleRef === undefined ? {} : { roleRef: renamed(roleRef) }),
    ...(Array.isArray(subjects) ? { subjects: arrayAt(binding, 'subjects').map(renamed) } : {}),
  }
}
