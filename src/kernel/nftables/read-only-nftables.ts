import type { Nftables } from './nftables.ts'

/** The same tables; a transaction is accepted, and changes nothing. */
export function readOnlyNftables(nftables: Nftables): Nftables {
  return {
    commits: 0,
    commit: async () => undefined,
    generation: () => nftables.generation(),
    read: (table) => nftables.read(table),
    elements: (table, set, visit) => nftables.elements(table, set, visit),
    lookup: (table, set, keys) => nftables.lookup(table, set, keys),
    close: () => nftables.close(),
  }
}
