import type { StringMap } from './object-meta.ts'

/** A copy of a map without some keys. */
export function withoutKeys(map: StringMap, ...keys: readonly string[]): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))
}
