import { NAMES, named } from './names.ts'
import type { Raw } from './raw.ts'

/** When the change behind this endpoints object happened, in ms since the epoch. */
export function readTriggerTime(annotations: Raw): number | undefined {
  const time = Date.parse(named(annotations, NAMES.triggerTime) ?? '')
  return Number.isNaN(time) ? undefined : time
}
