import { TRIGGER_TIME } from '../../resources/label-names.ts'
import type { StringMap } from '../objects/string-map.ts'

/**
 * When the first of the changes happened that a write brings: what nodes measure
 * their latency from. Times up to the one that was written last are those of
 * earlier changes; none left: undefined, and the annotation goes.
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
