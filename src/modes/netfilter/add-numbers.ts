import type { TrafficNumbers } from '../mode.ts'

/** The sum of two that count the same; undefined: nothing yet. */
export function addNumbers(to: TrafficNumbers | undefined, more: TrafficNumbers): TrafficNumbers {
  if (to === undefined) return more
  const names = Object.keys(more) as (keyof TrafficNumbers)[]
  return Object.fromEntries(
    names.map((name) => [name, (to[name] ?? 0) + (more[name] ?? 0)] as const),
  )
}
