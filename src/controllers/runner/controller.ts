import type { CollectionName, Objects } from '../cache/collections.ts'
import type { View } from '../cache/object-cache.ts'
import type { Affects } from '../cache/selection.ts'
import type { Write } from './write.ts'

/** The result of reconciling one key. */
export interface Reconciliation {
  /** Made one after another; after a failed one the rest is dropped. */
  readonly writes: readonly Write[]
  /** Reconcile the key again after so many milliseconds, also without a change. */
  readonly againMs?: number
  /** Other keys of the controller to reconcile because of this one. */
  readonly dirty?: Iterable<string>
}

/**
 * A controller is pure functions: the keys that a change makes dirty (`watches`), and the writes that the state
 * requires for a key (`reconcile`). The runner does everything else.
 */
export interface Controller {
  /** `endpoints`; a label of metrics. */
  readonly name: string
  /** Of kube-system: as whom it writes; its role is in `src/auth/builtin-roles/component-roles.ts`. */
  readonly account: string
  /** The number of keys reconciled at once; with 1, each sees the writes for the one before. */
  readonly workers?: number
  /**
   * Milliseconds for which a key that a change made dirty waits for further changes,
   * counted from the first; 0 where the function is absent. Many changes cost one reconcile.
   */
  delayMs?(key: string): number
  /** For each collection, the keys that a change of one of its objects makes dirty. */
  readonly watches: { readonly [K in CollectionName]?: Affects<Objects[K]> }
  /**
   * `now` and `since` are in milliseconds since the epoch. Since `since` this replica has led, and followed the
   * view without a break.
   */
  reconcile(key: string, view: View, now: number, since: number): Reconciliation
}

/** Nothing is to be done. */
export const SETTLED: Reconciliation = { writes: [] }
