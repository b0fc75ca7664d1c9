import { isDeepEqual } from '../../../src/lib/equal.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import type { WatchLine } from './watch-log.ts'

export type Objects = ReadonlyMap<string, JsonObject>

export function applyChange(
  state: Map<string, JsonObject>,
  { type, name, object }: WatchLine,
): void {
  if (type === 'DELETED') state.delete(name)
  else state.set(name, object)
}

/** Names of objects that differ. */
export function differences(one: Objects, other: Objects): readonly string[] {
  const names = new Set([...one.keys(), ...other.keys()])
  return [...names].filter((name) => !isDeepEqual(bare(one.get(name)), bare(other.get(name))))
}

/** The object without apiVersion and kind, which objects of lists do not have. */
function bare(object: JsonObject | undefined): JsonObject | undefined {
  return object && { ...object, kind: null, apiVersion: null }
}
