import type { CollectionName } from '../cache/collection-route.ts'
import type { Objects } from '../cache/collections.ts'
import type { View } from '../cache/object-cache.ts'
import type { Affects } from '../cache/selection.ts'
import type { Write } from './write.ts'

/** The result of reconciling one key. */
export interface Reconciliation {
  /** Executed one after another; after a failure the rest is dropped. */
  readonly writes: readonly Write[]
  /** Reconcile the key again after this many milliseconds, even without a change. */
  readonly againMs?: number
  /** Keys of the controller to reconcile at once after the writes, such as this one again. */
  readonly dirty?: Iterable<string>
}

/**
 * A controller consists of pure functions: `watches` returns the keys that a change makes dirty, `reconcile`
 * the writes that the state requires for a key. The runner does everything else.
 */
export interface Controller {
  /** Such as `endpoints`; used as a label of metrics. */
  readonly name: string
  /** The account in kube-system that it writes as; its role is in `src/auth/builtin-roles/component-roles.ts`. */
  readonly account: string
  /** The number of keys reconciled at once; with 1, each sees the writes for the one before. */
  readonly workers?: number
  /**
   * Milliseconds for which a key that a change made dirty waits for further changes,
   * counted from the first; 0 where the function is absent. Many changes cost one reconcile.
   */
  delayMs?(key: string, view: View): number
  /** Of the keys that wait, those with the greatest number are reconciled first; 0 where the function is absent. */
  priority?(key: string, view: View): number
  /** For each collection, the keys that a change of one of its objects makes dirty. */
  readonly watches: { readonly [K in CollectionName]?: Affects<Objects[K]> }
  /**
   * `now` and `since` are in milliseconds since the epoch. From `since` until `now` this replica has been the
   * leader and its watches were open without a break.
   */
  reconcile(key: string, view: View, now: number, since: number): Reconciliation
}

/** Nothing is to be done. */
export const SETTLED: Reconciliation = { writes: [] }
