import { TRIGGER_TIME } from '../../resources/label-names.ts'
import type { StringMap } from '../objects/string-map.ts'

/**
 * The annotation `last-change-trigger-time`, from which nodes measure their latency: the earliest of the `times`
 * (RFC 3339) that is later than the one in the present `annotations`. Undefined, which removes the annotation,
 * when there is none.
 */
export function triggerTime(times: readonly string[], annotations: StringMap): string | undefined {
  const previous = Date.parse(annotations[TRIGGER_TIME] ?? '')
  const fresh = times.filter((time) => {
    const at = Date.parse(time)
    return !Number.isNaN(at) && !(at <= previous)
  })
  const [first] = fresh.toSorted((a, b) => Date.parse(a) - Date.parse(b))
  return first
}
