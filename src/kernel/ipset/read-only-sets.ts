import type { Sets } from './sets.ts'

/** The same sets; commands are accepted, and change nothing. */
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
