import type { JsonObject } from '../../lib/json.ts'

/** Labels, annotations or a selector. */
export type StringMap = Readonly<Record<string, string>>

/** The wanted values of some keys of a map; undefined for a key that the map must not have. */
export type WantedKeys = Readonly<Record<string, string | undefined>>

/** The entries whose values are strings; the API allows no others in such a map. */
export function readStrings(map: JsonObject): StringMap {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** The merge patch (RFC 7396) that makes `current` equal to `wanted`; empty when they are equal. */
export function replacementPatch(current: StringMap, wanted: StringMap): JsonObject {
  const extra = Object.keys(current).filter((key) => !Object.hasOwn(wanted, key))
  return { ...Object.fromEntries(extra.map((key) => [key, null])), ...keysPatch(current, wanted) }
}

/** The merge patch (RFC 7396) that sets or removes the `wanted` keys and no other key; empty when nothing differs. */
export function keysPatch(current: StringMap, wanted: WantedKeys): JsonObject {
  const changed = Object.entries(wanted).filter(([key, value]) => ownValue(current, key) !== value)
  return Object.fromEntries(changed.map(([key, value]) => [key, value ?? null]))
}

/** A copy of a map without some keys. */
export function withoutKeys(map: StringMap, ...keys: readonly string[]): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))
}

/** Whether an object has no own keys. */
export function isEmpty(map: object): boolean {
  return Object.keys(map).length === 0
}

function ownValue(map: StringMap, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
