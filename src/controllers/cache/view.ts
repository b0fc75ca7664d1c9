import type { CollectionName, Objects } from './collections.ts'

/** The present objects of a collection. */
export interface Collection<T> {
  get(key: string): T | undefined
  /** The members of a group (see `COLLECTIONS`). */
  group(name: string): Iterable<T>
  groupSize(name: string): number
  values(): Iterable<T>
  /** The sums of what the objects add to each total (see `COLLECTIONS`). */
  totals(): ReadonlyMap<string, number>
  /** When the heartbeat of an object was last seen to change, milliseconds since the epoch; undefined: never. */
  heardAt(key: string): number | undefined
}

/** What a reconcile may read of the cluster. */
export type View = { readonly [K in CollectionName]: Collection<Objects[K]> }
