import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  mergePatch,
  objectAt,
  stringAt,
} from '../../lib/json.ts'

/** A patched object with its conditions merged by their type, as a strategic merge patch does. */
export function withConditions(before: JsonObject, after: Json): Json {
  if (!isJsonObject(after)) return after
  const [old, patches] = [conditionsOf(before), conditionsOf(after)]
  if (patches.size === 0) return after
  const merged = new Map(old)
  for (const [type, patch] of patches) {
    if (stringAt(patch, '$patch') === 'delete') merged.delete(type)
    else merged.set(type, mergePatch(old.get(type), patch))
  }
  return { ...after, status: { ...objectAt(after, 'status'), conditions: [...merged.values()] } }
}

function conditionsOf(object: JsonObject): ReadonlyMap<string, Json> {
  return new Map(arrayAt(object, 'status', 'conditions').map((one) => [stringAt(one, 'type'), one]))
}
