import { NodeProxyError } from '../../../lib/error.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Change, KernelError, ObjectKey } from '../../mode.ts'
import { objectOf, type Table } from './object.ts'

/** One `*table … COMMIT` block, which takes effect as a whole or not at all. */
export interface Commit {
  readonly family: Family
  readonly table: Table
  /** Chains and jumps to write, in an order in which each refers only to earlier ones. */
  readonly set: readonly ObjectKey[]
  readonly unset: readonly ObjectKey[]
  /** Chains to create empty: others lead to them, and their own rules were refused. */
  readonly stubs: readonly ObjectKey[]
}

/** How a change is ordered and divided. */
export interface PlanOptions {
  /** The tables in the order in which they are written. */
  readonly tables: readonly Table[]
  readonly chainsPerCommit: number
  /** Chains of a lower rank are written earlier and removed later. */
  rankOf(chain: string): number
}

/**
 * Orders a change by family and table: a chain before the chains that jump to it, the jumps of built-in chains last.
 * Removals follow in the reverse order. Throws a TypeError for an object that is in none of the tables.
 */
export function plan(change: Change, options: PlanOptions): readonly Commit[] {
  const ours = new Set<string>(options.tables)
  const stray = [...change.set, ...change.unset].find((key) => !ours.has(objectOf(key).table))
  if (stray !== undefined)
    throw new TypeError(`${stray} is in none of the tables ${options.tables.join(', ')}`)
  return ([4, 6] as const).flatMap((family) =>
    options.tables.flatMap((table) =>
      commitsOf({ family, table, stubs: [], ...inTable(change, `${family}/${table}/`) }, options),
    ),
  )
}

function inTable(change: Change, prefix: string): Change {
  const here = (key: ObjectKey) => key.startsWith(prefix)
  return { set: change.set.filter(here), unset: change.unset.filter(here) }
}

function commitsOf(whole: Commit, options: PlanOptions): readonly Commit[] {
  const { chainsPerCommit: size } = options
  const set = inDependencyOrder(whole.set, options)
  const unset = inDependencyOrder(whole.unset, options).toReversed()
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

function inDependencyOrder(keys: readonly ObjectKey[], options: PlanOptions): readonly ObjectKey[] {
  const ranked = keys.map((key) => ({ key, rank: rankOf(key, options) }))
  ranked.sort((a, b) => a.rank - b.rank || (a.key < b.key ? -1 : 1))
  return ranked.map(({ key }) => key)
}

function rankOf(key: ObjectKey, options: PlanOptions): number {
  const object = objectOf(key)
  return object.kind === 'jump' ? Number.MAX_SAFE_INTEGER : options.rankOf(object.chain)
}

/** Throws the first refusal of a removal, with its code, if there is one. */
export function demandRemoved(failed: ReadonlyMap<ObjectKey, KernelError>): void {
  const [first] = failed
  if (first === undefined) return
  const [object, { code, message }] = first
  throw new NodeProxyError(code, `${object} could not be removed: ${message}`, { object })
}
