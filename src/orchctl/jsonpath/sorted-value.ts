import { isJsonObject, type Json, type JsonObject, setOwn } from '../../lib/json.ts'

/** A copy whose objects have their keys in order, as kubectl prints them. */
export function sortedValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortedValue)
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [key, inner] of entries) setOwn(copy, key, sortedValue(inner))
  return copy
}
