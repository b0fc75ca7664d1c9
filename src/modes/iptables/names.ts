import { hashName } from '../../lib/hash.ts'
import type { OwnedChains } from '../netfilter/chains/keeper-options.ts'

/** Every chain and set of ours starts with this; it is how a fresh daemon recognises them. */
export const PREFIX = 'NPROXY-'

/**
 * Where our chains are. During a change a packet may meet one table in its old state and the other in its new state,
 * or the reverse: `filterRules` answers what `nat` has not translated.
 */
export const OWNED_CHAINS = {
  prefix: PREFIX,
  tables: ['nat', 'filter'],
} as const satisfies OwnedChains

export type OwnTable = (typeof OWNED_CHAINS)['tables'][number]

/** Fixed chains. The kernel allows 28 characters. */
export const CHAIN = {
  services: `${PREFIX}SERVICES`,
  vips: `${PREFIX}VIPS`,
  nodePorts: `${PREFIX}NODEPORTS`,
  postrouting: `${PREFIX}POSTROUTING`,
  filter: `${PREFIX}FILTER`,
  filterVips: `${PREFIX}FILTER-VIPS`,
  filterNodePorts: `${PREFIX}FILTER-NODEPORTS`,
  ranges: `${PREFIX}RANGES`,
  forward: `${PREFIX}FORWARD`,
  martians: `${PREFIX}MARTIANS`,
} as const

/** What follows `PREFIX` in the names of dispatch chains: of those by address, and of those by node port. */
export const DISPATCH = { vips: 'V-', nodePorts: 'P-' } as const

/** The roots of the trees of dispatch chains. */
const ROOTS: ReadonlySet<string> = new Set([
  CHAIN.vips,
  CHAIN.nodePorts,
  CHAIN.filterVips,
  CHAIN.filterNodePorts,
])

/**
 * Chains of one Service port: `C` cluster pool, `L` local pool, `E` what
 * external traffic meets first, `F` firewall of a frontend with source ranges.
 */
export type ServiceChain = 'C' | 'L' | 'E' | 'F'

/** `NPROXY-C-…`: the chain of this kind, named by a hash of its owner; 28 characters. */
export function serviceChain(kind: ServiceChain, owner: string): string {
  return `${PREFIX}${kind}-${hashName(owner, 19)}`
}

/** The set that remembers which clients stick to one backend; 29 of 31 characters. */
export function affinitySet(family: 4 | 6, owner: string): string {
  return `${PREFIX}A${family}-${hashName(owner, 19)}`
}

/**
 * Each chain leads only to chains of a lower rank, so no packet ever meets half a
 * Service: pools, entries, firewalls; dispatch chains from the leaves up; their roots;
 * base rules.
 */
export function rankOf(chain: string): number {
  if (ROOTS.has(chain)) return RANK.roots
  const kind = chain.slice(PREFIX.length, PREFIX.length + 2)
  const service = SERVICE_KINDS.indexOf(kind)
  if (service >= 0) return service
  const isDispatch = kind === DISPATCH.vips || kind === DISPATCH.nodePorts
  return isDispatch ? RANK.dispatch - chain.length : RANK.base
}

const SERVICE_KINDS = ['C-', 'L-', 'E-', 'F-']

/** The name of a dispatch chain extends that of its parent, so a leaf has the lowest rank of its branch. */
const RANK = { dispatch: 60, roots: 100, base: 200 }
