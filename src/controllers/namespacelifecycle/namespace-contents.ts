import { COLLECTION_ROUTES } from '../cache/collection-route.ts'
import type { CollectionName } from '../cache/collections.ts'
import { namespaceGroup } from '../cache/collections.ts'
import { COLLECTION_NAMES } from '../cache/per-collection.ts'
import type { View } from '../cache/view.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'

/** The objects of one collection that are in a namespace; at least one. */
export interface Contents {
  readonly collection: CollectionName
  readonly objects: readonly ObjectMeta[]
}

/** Everything in a namespace that must be deleted before it ends: all but Events. */
export function contentsOf(namespace: string, view: View): readonly Contents[] {
  return COLLECTION_NAMES.filter((collection) => COLLECTION_ROUTES[collection].namespaced)
    .map((collection) => {
      const members = view[collection].group(namespaceGroup(namespace))
      return { collection, objects: [...members].map(({ meta }) => meta) }
    })
    .filter(({ objects }) => objects.length > 0)
}
