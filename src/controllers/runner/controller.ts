import type { Affects } from '../cache/affects.ts'
import type { CollectionName, Objects } from '../cache/collections.ts'
import type { View } from '../cache/view.ts'
import type { Write } from './writing/write.ts'

/** What is to be done about one key. */
export interface Reconciliation {
  /** In this order, one after another; the rest is dropped when one fails. */
  readonly writes: readonly Write[]
  /** Look again after so many milliseconds, though nothing may have changed. */
  readonly againMs?: number
  /** Other keys of the controller that have to be looked at because of this one. */
  readonly dirty?: Iterable<string>
}

/**
 * A controller is two pure functions: whom a change concerns, and what the
 * state asks for. The runner does everything else.
 */
export interface Controller {
  /** `endpointslice`; a label of metrics. */
  readonly name: string
  /** Keys that are worked on at once; with 1, each sees what was written for the one before. */
  readonly workers?: number
  /**
   * Milliseconds for which a key that a change made dirty waits for further changes,
   * counted from the first; 0 where the function is absent. Many changes cost one reconcile.
   */
  delayMs?(key: string): number
  readonly watches: { readonly [K in CollectionName]?: Affects<Objects[K]> }
  /**
   * `now` in milliseconds since the epoch; since `since` the view has been
   * followed without a break by a replica that leads.
   */
  reconcile(key: string, view: View, now: number, since: number): Reconciliation
}

/** Nothing is to be done. */
export const SETTLED: Reconciliation = { writes: [] }
