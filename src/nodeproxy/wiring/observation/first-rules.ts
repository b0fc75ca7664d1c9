import type { Running } from '../engine/engine.ts'

/** Counts for the log record of the first complete run of a mode. */
export function describeRules(
  { mode, table, tracker }: Running,
  services: number,
): Readonly<Record<string, number | string>> {
  let [entries, frontends, endpoints] = [0, 0, 0]
  for (const { frontends: own, pools } of table.entries()) {
    entries++
    frontends += own.length
    // An endpoint of two Services counts twice: a set of hundreds of thousands would delay the record.
    endpoints += Math.max(pools.cluster.length, pools.local.length)
  }
  const objects = [...tracker.wantedKeys()].length
  const refused = tracker.failures().size
  return {
    mode: mode.name,
    services,
    entries,
    frontends,
    endpoints,
    objects,
    refused,
  }
}
