import { named } from './metadata.ts'
import { NAMES } from './names.ts'
import type { Reader } from './reader.ts'
import { parseTimestamp } from './timestamp.ts'

/** When the change behind an endpoints object happened, in ms since the epoch. */
export function readTriggerTime(annotations: Reader): number | undefined {
  return parseTimestamp(named(annotations, NAMES.triggerTime))
}
