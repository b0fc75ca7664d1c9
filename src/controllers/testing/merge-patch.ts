import { isJsonObject, type Json, setOwn } from '../../lib/json.ts'

/** A merge patch as RFC 7396 defines it. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch
  const merged = isJsonObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else setOwn(merged, key, mergePatch(merged[key], value))
  }
  return merged
}
