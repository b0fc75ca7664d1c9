import type { Ipset } from '../../kernel/ipset/ipset.ts'
import type { Iptables, SavedTable } from '../../kernel/iptables/iptables.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { PREFIX } from '../netfilter/names.ts'
import {
  digestCount,
  digestRules,
  type IptablesObject,
  type JumpObject,
  keyOf,
  objectOf,
  type Table,
} from './object.ts'

const BUILT_IN: Readonly<Record<Table, readonly string[]>> = {
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
}

/** What the kernel holds of ours in one table: our chains, and rules elsewhere that lead to them. */
export async function observeTable(
  iptables: Iptables,
  family: Family,
  table: Table,
): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const keep = (chain: string) => chain.startsWith(PREFIX) || BUILT_IN[table].includes(chain)
  return digestsOf(await iptables.save(family, table, { keep }), family, table)
}

/** Our sets: one is right when it is there. */
export async function observeSets(ipset: Ipset): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const names = await ipset.names(PREFIX)
  return new Map(names.map((name) => [keyOf({ kind: 'set', name }), digestCount(1)]))
}

/** Reading a whole table costs what this many processes for one chain each cost. */
const CHAINS_WORTH_A_TABLE = 24

/**
 * The present digests of some objects; those that do not exist are absent. Of a
 * built-in chain all our jumps are told, so that a second one shows as well.
 */
export async function observeObjects(
  { iptables, ipset }: { readonly iptables: Iptables; readonly ipset: Ipset },
  keys: readonly ObjectKey[],
): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const wanted = new Set(keys)
  const found = new Map<ObjectKey, Digest>()
  const keep = (seen: ReadonlyMap<ObjectKey, Digest>) => {
    for (const [key, digest] of seen)
      if (wanted.has(key) || key.includes('>')) found.set(key, digest)
  }
  const objects = keys.map(objectOf)
  if (objects.some(({ kind }) => kind === 'set')) keep(await observeSets(ipset))
  for (const { family, table, chains } of placesOf(objects)) {
    if (chains.size > CHAINS_WORTH_A_TABLE) {
      const listed = (chain: string) => chains.has(chain)
      const saved = await iptables.save(family, table, { keep: listed })
      keep(digestsOf(saved, family, table))
      continue
    }
    for (const chain of chains) {
      const rules = await iptables.listChain(family, table, chain)
      const saved = new Map(rules ? [[chain, { policy: undefined, rules }]] : [])
      keep(digestsOf({ chains: saved }, family, table))
    }
  }
  return found
}

interface Place {
  readonly family: Family
  readonly table: Table
  readonly chains: Set<string>
}

/** The chains to look at, by table. */
function placesOf(objects: readonly IptablesObject[]): Iterable<Place> {
  const places = new Map<string, Place>()
  for (const object of objects) {
    if (object.kind === 'set') continue
    const { family, table } = object
    const place = places.get(`${family}/${table}`) ?? { family, table, chains: new Set() }
    places.set(`${family}/${table}`, place)
    place.chains.add(object.chain)
  }
  return places.values()
}

function digestsOf(
  saved: SavedTable,
  family: Family,
  table: Table,
): ReadonlyMap<ObjectKey, Digest> {
  const digests = new Map<ObjectKey, Digest>()
  for (const [chain, { rules }] of saved.chains) {
    const place: IptablesObject = { kind: 'chain', family, table, chain }
    if (chain.startsWith(PREFIX)) digests.set(keyOf(place), digestRules(rules))
    else for (const [key, count] of ourJumps(rules, place)) digests.set(key, digestCount(count))
  }
  return digests
}

/** Rules of a built-in chain that lead to one of our chains, with how often they stand there. */
function ourJumps(
  rules: readonly string[],
  { family, table, chain }: Omit<JumpObject, 'kind' | 'rule'>,
): ReadonlyMap<ObjectKey, number> {
  const counts = new Map<ObjectKey, number>()
  for (const rule of rules) {
    if (!/ ?-[jg] NPROXY-[\w-]+$/.test(rule)) continue
    const key = keyOf({ kind: 'jump', family, table, chain, rule })
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}
