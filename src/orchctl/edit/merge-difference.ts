import { isDeepEqual } from '../../lib/equal.ts'
import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from '../../lib/json.ts'

/** The merge patch (RFC 7396) that turns one object into the other. Lists are replaced as a whole. */
export function mergeDifference(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {}
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [one, other] = [ownValue(before, key), ownValue(after, key)]
    if (other === undefined) setOwn(patch, key, null)
    else if (isJsonObject(one) && isJsonObject(other)) {
      const inner = mergeDifference(one, other)
      if (Object.keys(inner).length > 0) setOwn(patch, key, inner)
    } else if (!isDeepEqual(one, other)) setOwn(patch, key, other)
  }
  return patch
}

/** Whether two merge patches set the same field to different values. */
export function isContradiction(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return false
  if (!isJsonObject(one) || !isJsonObject(other)) return !isDeepEqual(one, other)
  return Object.keys(one).some((key) => isContradiction(ownValue(one, key), ownValue(other, key)))
}
