import type { CollectionName, Objects } from './collections.ts'

/** A collection as it is known now. */
export interface Collection<T> {
  get(key: string): T | undefined
  /** The members of a group (see `COLLECTIONS`). */
  group(name: string): Iterable<T>
  groupSize(name: string): number
  values(): Iterable<T>
  /** The sums of what the objects add to each total (see `COLLECTIONS`). */
  totals(): ReadonlyMap<string, number>
  /** When the heartbeat of an object was seen to change, by our clock; undefined: never. */
  heardAt(key: string): number | undefined
}

/** All that a reconcile sees of the cluster. */
export type View = { readonly [K in CollectionName]: Collection<Objects[K]> }
