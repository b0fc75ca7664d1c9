import { named } from './metadata.ts'
import { NAMES } from './names.ts'
import type { Reader } from './reader.ts'

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch for an RFC 3339 time; undefined for anything else. */
export function parseTimestamp(value: unknown): number | undefined {
  if (typeof value !== 'string' || !RFC3339.test(value)) return undefined
  const time = Date.parse(value.toUpperCase())
  return Number.isNaN(time) ? undefined : time
}

/** Whether a value is an RFC 3339 time. */
export function isTimestamp(value: unknown): boolean {
  return parseTimestamp(value) !== undefined
}

/** The time of the change that caused an endpoints object to be written, in milliseconds since the epoch. */
export function readTriggerTime(annotations: Reader): number | undefined {
  return parseTimestamp(named(annotations, NAMES.triggerTime))
}
