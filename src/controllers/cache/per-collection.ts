import { COLLECTION_ROUTES } from './collection-route.ts'
import type { CollectionName } from './collections.ts'

/** Names of all collections. */
export const COLLECTION_NAMES = Object.keys(COLLECTION_ROUTES) as readonly CollectionName[]

/** One value for each collection. */
export function perCollection<T>(
  make: (name: CollectionName) => T,
): Readonly<Record<CollectionName, T>> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, make(name)])) as Record<
    CollectionName,
    T
  >
}
