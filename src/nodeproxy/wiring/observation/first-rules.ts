import type { Running } from '../engine/engine.ts'

/** Counts for the log record of the first complete run of a mode. */
export function describeRules(
  { mode, table, tracker }: Running,
  services: number,
): Readonly<Record<string, number | string>> {
  let [entries, frontends] = [0, 0]
  /** Addresses by port: there may be hundreds of thousands. */
  const endpoints = new Map<number, Set<string>>()
  for (const entry of table.entries()) {
    entries++
    frontends += entry.frontends.length
    for (const { ip, port } of [...entry.pools.cluster, ...entry.pools.local]) {
      const addresses = endpoints.get(port)
      if (addresses) addresses.add(ip)
      else endpoints.set(port, new Set([ip]))
    }
  }
  const objects = [...tracker.wantedKeys()].length
  const refused = tracker.failures().size
  return {
    mode: mode.name,
    services,
    entries,
    frontends,
    endpoints: endpoints.values().reduce((sum, { size }) => sum + size, 0),
    objects,
    refused,
  }
}
