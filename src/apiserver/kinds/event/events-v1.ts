import type { JsonObject } from '../../../lib/json.ts'

/** Fields of a core Event and their names in `events.k8s.io/v1`; all other fields have the same name in both. */
const RENAMED = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
] as const

const TO_V1: ReadonlyMap<string, string> = new Map(RENAMED)
const FROM_V1: ReadonlyMap<string, string> = new Map(RENAMED.map(([core, v1]) => [v1, core]))

/** A stored Event as `events.k8s.io/v1` names its fields. */
export function eventToEventsV1(event: JsonObject): JsonObject {
  return renamed(event, TO_V1)
}

/** The inverse: an Event of `events.k8s.io/v1` in stored form. */
export function eventFromEventsV1(event: JsonObject): JsonObject {
  return renamed(event, FROM_V1)
}

function renamed(event: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    Object.entries(event).map(([field, value]) => [names.get(field) ?? field, value]),
  )
}
