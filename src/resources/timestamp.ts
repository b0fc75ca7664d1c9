import { named } from './metadata.ts'
import { NAMES } from './names.ts'
import type { Reader } from './reader.ts'

const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch for an RFC 3339 time; undefined for anything else. */
export function parseTimestamp(value: unknown): number | undefined {
  const match = typeof value === 'string' ? RFC3339.exec(value.toUpperCase()) : null
  if (match === null) return undefined
  const [text, local = ''] = match
  const time = Date.parse(text)
  return Number.isNaN(time) || !isInCalendar(local) ? undefined : time
}

/** Whether a day and a time of day exist. `Date.parse` takes 30 February for 1 March, and 24:00 for the next day. */
function isInCalendar(local: string): boolean {
  return new Date(`${local}Z`).toISOString().startsWith(local)
}

/** Whether a value is an RFC 3339 time. */
export function isTimestamp(value: unknown): boolean {
  return parseTimestamp(value) !== undefined
}

/** The time of the change that caused an endpoints object to be written, in milliseconds since the epoch. */
export function readTriggerTime(annotations: Reader): number | undefined {
  return parseTimestamp(named(annotations, NAMES.triggerTime))
}
