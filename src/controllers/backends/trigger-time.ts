import { TRIGGER_TIME } from '../../resources/label-names.ts'
import type { StringMap } from '../objects/string-map.ts'

/**
 * The annotation `last-change-trigger-time`, from which service proxies measure their latency: the earliest of
 * the `times` (RFC 3339, empty when unknown) that is later than the one in the current `annotations`.
 * Undefined, which removes the annotation, when no time is later.
 */
export function triggerTime(times: readonly string[], annotations: StringMap): string | undefined {
  const written = Date.parse(annotations[TRIGGER_TIME] ?? '')
  const previous = Number.isNaN(written) ? Number.NEGATIVE_INFINITY : written
  const [earliest] = times
    .filter((time) => Date.parse(time) > previous)
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
  return earliest
}
