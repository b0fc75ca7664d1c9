/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject

export interface JsonObject {
  [key: string]: Json
}

/** Whether a value is an object, and not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object's own value, never one inherited from `Object.prototype`. */
export function ownValue(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Sets an own property, also for the key `__proto__`, for which assignment would not. */
export function setOwn(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    })
  } else object[key] = value
}

/** The own value at a path of keys, or undefined. */
export function valueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let at = value
  for (const key of path) at = isJsonObject(at) ? ownValue(at, key) : undefined
  return at
}

/** The string at a path; empty if absent. */
export function stringAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = valueAt(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** A scalar as text for people; empty for anything else. */
export function scalarText(value: Json | undefined): string {
  return value === undefined || typeof value === 'object' ? '' : String(value)
}

/** The object at a path, or `value` itself if no path is given. If absent: a new, empty one. */
export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  const found = valueAt(value, ...path)
  return isJsonObject(found) ? found : {}
}

/** The array at a path. If absent: a new, empty one. */
export function arrayAt(value: Json | undefined, ...path: readonly string[]): Json[] {
  const found = valueAt(value, ...path)
  return Array.isArray(found) ? found : []
}

/** A shallow copy without some keys. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  const copy: JsonObject = { ...object }
  for (const key of keys) delete copy[key]
  return copy
}

/** The texts of the array at a path; other items are left out. */
export function stringsAt(value: Json | undefined, ...path: readonly string[]): string[] {
  return arrayAt(value, ...path).filter((item) => typeof item === 'string')
}

/** The value of a JSON text; undefined when it is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

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
