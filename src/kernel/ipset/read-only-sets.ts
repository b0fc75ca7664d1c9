import type { Sets } from './sets.ts'

/** The same sets, of which nothing is changed: commands are accepted, and dropped. */
export function readOnlySets(sets: Sets): Sets {
  return {
    run: async () => [],
    names: (prefix) => sets.names(prefix),
    headers: (prefix) => sets.headers(prefix),
    members: (name) => sets.members(name),
    protocolVersion: () => sets.protocolVersion(),
    close: () => sets.close(),
  }
}
