import { CHAIN, PREFIX } from './names.ts'

const ROOTS: ReadonlySet<string> = new Set([
  CHAIN.vips,
  CHAIN.nodePorts,
  CHAIN.filterVips,
  CHAIN.filterNodePorts,
])

/**
 * Each chain leads only to chains of a lower rank, so no packet ever meets half a
 * Service: pools, entries, firewalls; dispatch chains from the leaves up; their roots;
 * scaffolding.
 */
export function rankOf(chain: string): number {
  if (ROOTS.has(chain)) return 100
  const kind = chain.slice(PREFIX.length, PREFIX.length + 2)
  const service = ['C-', 'L-', 'E-', 'F-'].indexOf(kind)
  if (service >= 0) return service
  return kind === 'V-' || kind === 'P-' ? 60 - chain.length : 200
}
