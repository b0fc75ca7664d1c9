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

/** The present digests of some chains and jumps; those that do not exist are absent. */
export async function observeObjects(
  iptables: Iptables,
  keys: readonly ObjectKey[],
): Promise<ReadonlyMap<ObjectKey, Digest>> {
  const found = new Map<ObjectKey, Digest>()
  const listed = new Map<string, readonly string[] | undefined>()
  for (const key of keys) {
    const object = objectOf(key)
    if (object.kind === 'set') continue
    const place = `${object.family}/${object.table}/${object.chain}`
    if (!listed.has(place)) {
      listed.set(place, await iptables.listChain(object.family, object.table, object.chain))
    }
    const rules = listed.get(place)
    if (rules === undefined) continue
    if (object.kind === 'chain') found.set(key, digestRules(rules))
    else for (const [jump, count] of ourJumps(rules, object)) found.set(jump, digestCount(count))
  }
  return found
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
