import type { Iptables, SavedTable } from '../../../kernel/iptables/iptables.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Digest, ObjectKey } from '../../mode.ts'
import {
  BUILT_IN,
  type ChainLocation,
  digestBehind,
  digestCount,
  digestRules,
  keyOf,
  objectOf,
  type Table,
} from './object.ts'

/** Rules of nat's built-in chains that lead to the chains of kube-proxy, in any of its modes. */
const FOREIGN = / ?-[jg] KUBE-(?:SERVICES|POSTROUTING|PORTALS-HOST|PORTALS-CONTAINER)$/

/** Where to look, and the prefix of our chains' names. */
export interface View {
  readonly iptables: Iptables
  readonly prefix: string
  /** Whether a jump behind one of another Service proxy counts as wrong; false by default. */
  readonly precedes?: boolean
}

type TablePlace = Pick<ChainLocation, 'family' | 'table'>

/** Our objects in one table of the kernel: our chains, and rules elsewhere that lead to them. */
export async function observeTable(
  { iptables, prefix, precedes = false }: View,
  family: Family,
  table: Table,
): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const keep = (chain: string) => chain.startsWith(prefix) || BUILT_IN[table].includes(chain)
  const saved = await iptables.save(family, table, { keep })
  return digestsOf(saved, { family, table }, { prefix, precedes })
}

/** Reading a whole table costs as much as this many processes that read one chain each. */
const CHAINS_WORTH_A_TABLE = 24

/**
 * The present digests of some chains and jumps; those that do not exist are absent. For a built-in chain all our jumps
 * are returned, so that an additional one shows as well.
 */
export async function observeObjects(
  view: View,
  keys: readonly ObjectKey[],
): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const wanted = new Set(keys)
  const found = new Map<ObjectKey, Digest>()
  for (const { chains, ...place } of tablesOf(keys)) {
    for await (const saved of readChains(view.iptables, place, chains)) {
      // Only the key of a jump has a `>`, see `keyOf`.
      for (const [key, digest] of digestsOf(saved, place, { prefix: view.prefix, precedes: false }))
        if (wanted.has(key) || key.includes('>')) found.set(key, digest)
    }
  }
  return found
}

async function* readChains(
  iptables: Iptables,
  { family, table }: TablePlace,
  chains: ReadonlySet<string>,
): AsyncGenerator<SavedTable> {
  if (chains.size > CHAINS_WORTH_A_TABLE) {
    yield iptables.save(family, table, { keep: (chain) => chains.has(chain) })
    return
  }
  for (const chain of chains) {
    const rules = await iptables.listChain(family, table, chain)
    if (rules) yield { chains: new Map([[chain, { policy: undefined, rules }]]) }
  }
}

/** The chains to read, by table. */
function tablesOf(
  keys: readonly ObjectKey[],
): Iterable<TablePlace & { readonly chains: Set<string> }> {
  const places = new Map<string, TablePlace & { readonly chains: Set<string> }>()
  for (const { family, table, chain } of keys.map(objectOf)) {
    const place = places.get(`${family}/${table}`) ?? { family, table, chains: new Set() }
    places.set(`${family}/${table}`, place)
    place.chains.add(chain)
  }
  return places.values()
}

function digestsOf(
  saved: SavedTable,
  place: TablePlace,
  { prefix, precedes }: Required<Omit<View, 'iptables'>>,
): ReadonlyMap<ObjectKey, Digest> {
  const digests = new Map<ObjectKey, Digest>()
  const isJump = new RegExp(String.raw` ?-[jg] ${prefix}[\w-]+$`)
  for (const [chain, { rules }] of saved.chains) {
    if (chain.startsWith(prefix)) {
      digests.set(keyOf({ kind: 'chain', ...place, chain }), digestRules(rules))
      continue
    }
    const jumps = rules.filter((rule) => isJump.test(rule))
    const isBehind = precedes && place.table === 'nat' && hasJumpBefore(rules, jumps)
    const digest = isBehind ? digestBehind : digestCount
    for (const [key, count] of countJumps(jumps, { ...place, chain }))
      digests.set(key, digest(count))
  }
  return digests
}

/** How often each rule stands in its built-in chain. */
function countJumps(
  rules: readonly string[],
  place: ChainLocation,
): ReadonlyMap<ObjectKey, number> {
  const counts = new Map<ObjectKey, number>()
  for (const rule of rules) {
    const key = keyOf({ kind: 'jump', ...place, rule })
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/**
 * Whether one of our jumps in a built-in chain of nat is behind a rule that leads to another Service proxy. The first
 * translation of a connection counts, so the rules of the other proxy would decide.
 */
function hasJumpBefore(rules: readonly string[], ours: readonly string[]): boolean {
  const foreign = rules.findIndex((rule) => FOREIGN.test(rule))
  return foreign >= 0 && ours.some((jump) => rules.lastIndexOf(jump) > foreign)
}
