import { isDeepEqual } from '../../../lib/equal.ts'
import { arrayAt, isJsonObject, type JsonObject, stringAt, valueAt } from '../../../lib/json.ts'

/** Conditions of a status by their type. */
export type Conditions = ReadonlyMap<string, JsonObject>

/** The conditions of a status as they are stored. */
export function conditionsOf(status: JsonObject): Conditions {
  const found = arrayAt(status, 'conditions').filter(isJsonObject)
  return new Map(found.map((one) => [stringAt(one, 'type'), one]))
}

/**
 * The strategic merge patch that gives a status these counts and conditions; empty when it has them. As Kubernetes
 * stores them, a count of 0 is absent, except those in `always`.
 */
export function statusDifference(
  known: JsonObject,
  counts: Readonly<Record<string, number>>,
  conditions: Conditions,
  always: readonly string[] = [],
): JsonObject {
  const changed = Object.entries(counts).flatMap(([field, count]): [string, number | null][] => {
    const stored = valueAt(known, field)
    const wanted = count !== 0 || always.includes(field) ? count : undefined
    return stored === wanted ? [] : [[field, wanted ?? null]]
  })
  const listed = conditionsDifference(conditionsOf(known), conditions)
  return { ...Object.fromEntries(changed), ...(listed.length > 0 && { conditions: listed }) }
}

function conditionsDifference(known: Conditions, wanted: Conditions): JsonObject[] {
  const gone = [...known.keys()].filter((type) => !wanted.has(type))
  const set = [...wanted].filter(([type, one]) => !isDeepEqual(known.get(type), one))
  return [...gone.map((type) => ({ $patch: 'delete', type })), ...set.map(([, one]) => one)]
}
