import type { Running } from '../engine/engine.ts'

/** Counts for the log record of the first complete run of a mode. */
export function describeRules(
  { mode, table, tracker }: Running,
  services: number,
): Readonly<Record<string, number | string>> {
  let [entries, frontends] = [0, 0]
  const endpoints = new Set<string>()
  for (const entry of table.entries()) {
    entries++
    frontends += entry.frontends.length
    for (const { ip, port } of [...entry.pools.cluster, ...entry.pools.local]) {
      endpoints.add(`${ip} ${port}`)
    }
  }
  const objects = [...tracker.wantedKeys()].length
  const refused = tracker.failures().size
  return {
    mode: mode.name,
    services,
    entries,
    frontends,
    endpoints: endpoints.size,
    objects,
    refused,
  }
}
