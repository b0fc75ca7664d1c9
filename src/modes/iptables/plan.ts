import type { Family } from '../../lib/ip.ts'
import type { Change, ObjectKey } from '../mode.ts'
import { CHAIN, PREFIX } from '../netfilter/names.ts'
import { objectOf, type Table } from './object.ts'

/** One `*table … COMMIT` block: all of it takes effect, or nothing. */
export interface Commit {
  readonly family: Family
  readonly table: Table
  /** Chains and jumps to write, in an order in which each refers only to earlier ones. */
  readonly set: readonly ObjectKey[]
  readonly unset: readonly ObjectKey[]
  /** Chains to create empty, because others lead there and their own rules were refused. */
  readonly stubs: readonly ObjectKey[]
}

export interface Plan {
  readonly createSets: readonly ObjectKey[]
  readonly commits: readonly Commit[]
  /** After the commits, when no rule refers to them any more. */
  readonly destroySets: readonly ObjectKey[]
}

const ROOTS: ReadonlySet<string> = new Set([
  CHAIN.vips,
  CHAIN.nodePorts,
  CHAIN.filterVips,
  CHAIN.filterNodePorts,
])

/**
 * Orders a change. Sets come before the rules that name them; a Service's own
 * chains before the dispatch chains that lead there, those before the jumps of
 * the built-in chains: no packet ever meets half a Service. `nat` comes before
 * `filter`, so that a Service that gets its first backend is never unanswered.
 */
export function plan(change: Change, chainsPerCommit: number): Plan {
  const sets = (keys: readonly ObjectKey[]) => keys.filter((key) => objectOf(key).kind === 'set')
  return {
    createSets: sets(change.set),
    commits: ([4, 6] as const).flatMap((family) =>
      (['nat', 'filter'] as const).flatMap((table) =>
        commitsOf(
          { family, table, stubs: [], ...inTable(change, `${family}/${table}/`) },
          chainsPerCommit,
        ),
      ),
    ),
    destroySets: sets(change.unset),
  }
}

function inTable(change: Change, prefix: string): Change {
  const here = (key: ObjectKey) => key.startsWith(prefix)
  return { set: change.set.filter(here), unset: change.unset.filter(here) }
}

function commitsOf(whole: Commit, size: number): readonly Commit[] {
  const set = inDependencyOrder(whole.set)
  const unset = inDependencyOrder(whole.unset).toReversed()
  if (set.length + unset.length === 0) return []
  if (set.length + unset.length <= size) return [{ ...whole, set, unset }]
  return [
    ...slices(set, size).map((slice) => ({ ...whole, set: slice, unset: [] })),
    ...slices(unset, size).map((slice) => ({ ...whole, set: [], unset: slice })),
  ]
}

function slices<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size))
}

function inDependencyOrder(keys: readonly ObjectKey[]): readonly ObjectKey[] {
  const ranked = keys.map((key) => ({ key, rank: rankOf(key) }))
  ranked.sort((a, b) => a.rank - b.rank || (a.key < b.key ? -1 : 1))
  return ranked.map(({ key }) => key)
}

/** Pools, entries, firewalls; dispatch chains from the leaves up; roots, scaffolding, jumps. */
function rankOf(key: ObjectKey): number {
  const object = objectOf(key)
  if (object.kind === 'set') return -1
  if (object.kind === 'jump') return 300
  if (ROOTS.has(object.chain)) return 100
  const kind = object.chain.slice(PREFIX.length, PREFIX.length + 2)
  const service = ['C-', 'L-', 'E-', 'F-'].indexOf(kind)
  if (service >= 0) return service
  return kind === 'V-' || kind === 'P-' ? 60 - object.chain.length : 200
}
