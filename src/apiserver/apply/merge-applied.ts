import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from '../../lib/json.ts'
import {
  elementOf,
  hasParts,
  memberStructure,
  type Structure,
  unknownStructure,
} from './structure.ts'

/** The live value with everything that is applied to it; nothing is modified in place. */
export function mergeApplied(structure: Structure, live: Json | undefined, applied: Json): Json {
  if (live === undefined || !hasParts(structure, live) || !hasParts(structure, applied))
    return applied
  if (isJsonObject(live) && isJsonObject(applied)) return mergeMembers(structure, live, applied)
  return mergeItems(structure, live as readonly Json[], applied as readonly Json[])
}

function mergeMembers(structure: Structure, live: JsonObject, applied: JsonObject): Json {
  const merged = { ...live }
  for (const [name, value] of Object.entries(applied)) {
    const inside = memberStructure(structure, name) ?? unknownStructure
    setOwn(merged, name, mergeApplied(inside, ownValue(live, name), value))
  }
  return merged
}

/**
 * The applied elements in their order, at the positions of the live elements with the same keys;
 * other elements keep their positions. New ones follow the applied element before them.
 */
function mergeItems(
  structure: Structure,
  live: readonly Json[],
  applied: readonly Json[],
): readonly Json[] & Json {
  const items = structure.type === 'list' ? structure.items : structure
  const liveItems = new Map<string, Json>()
  for (const item of live) {
    const element = elementOf(structure, item)
    if (element !== undefined && !liveItems.has(element)) liveItems.set(element, item)
  }
  const elements = new Set(applied.map((item) => elementOf(structure, item)))
  const next = applied.map((item) =>
    mergeApplied(items, liveItems.get(elementOf(structure, item) ?? ''), item),
  )
  const isMet = live.map((item) => elements.has(elementOf(structure, item)))
  const last = isMet.lastIndexOf(true)
  const merged: Json[] = []
  let taken = 0
  for (const [index, item] of live.entries()) {
    if (!isMet[index]) merged.push(item)
    else if (index < last) merged.push(...next.slice(taken, ++taken))
    else merged.push(...next.slice(taken))
  }
  return last < 0 ? [...merged, ...next] : merged
}
