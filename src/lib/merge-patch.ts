import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from './json.ts'

/** RFC 7396: objects merge, null deletes, everything else replaces. Nothing is modified in place. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch
  const result: JsonObject = isJsonObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else setOwn(result, key, mergePatch(ownValue(result, key), value))
  }
  return result
}
