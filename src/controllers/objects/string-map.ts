import type { JsonObject } from '../../lib/json.ts'
import type { StringMap } from './object-meta.ts'

/** A map as it is to be: undefined for a key that is to be absent. */
export type WantedMap = Readonly<Record<string, string | undefined>>

/** The merge patch (RFC 7396) that leads from one map to exactly the other; empty for none. */
export function replaceMap(current: StringMap, wanted: StringMap): JsonObject {
  const gone = Object.keys(current).filter((key) => !Object.hasOwn(wanted, key))
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...adjustMap(current, wanted) }
}

/** The merge patch that sets or removes the keys that are named, and leaves all others. */
export function adjustMap(current: StringMap, wanted: WantedMap): JsonObject {
  const changed = Object.entries(wanted).filter(([key, value]) => own(current, key) !== value)
  return Object.fromEntries(changed.map(([key, value]) => [key, value ?? null]))
}

/** A copy of a map without some keys. */
export function withoutKeys(map: StringMap, ...keys: readonly string[]): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))
}

export function isEmpty(map: object): boolean {
  return Object.keys(map).length === 0
}

function own(map: StringMap, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
