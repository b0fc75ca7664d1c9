import { existsSync, readFileSync } from 'node:fs'
import type { Iptables, TableName } from '../../kernel/iptables/iptables.ts'
import type { Family } from '../../lib/ip.ts'

/**
 * Wraps an iptables so that reading has no side effects. The legacy variant would load a table into the kernel
 * to read it; here a table that is not loaded is empty.
 */
export function loadedTables(
  iptables: Iptables,
  isLoaded: (family: Family, table: TableName) => boolean = isInKernel,
): Iptables {
  const { backend, version } = iptables
  if (backend === 'nft') return iptables
  return {
    backend,
    version,
    save: async (family, table, options) =>
      isLoaded(family, table) ? iptables.save(family, table, options) : { chains: new Map() },
    listChain: async (family, table, chain) =>
      isLoaded(family, table) ? iptables.listChain(family, table, chain) : undefined,
    counters: async (family, table, visit) => {
      if (isLoaded(family, table)) await iptables.counters(family, table, visit)
    },
    restore: (family, text) => iptables.restore(family, text),
  }
}

function isInKernel(family: Family, table: TableName): boolean {
  const file = `/proc/net/ip${family === 4 ? '' : '6'}_tables_names`
  return existsSync(file) && readFileSync(file, 'utf8').split('\n').includes(table)
}
