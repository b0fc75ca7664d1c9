import { PLACES } from '../objects/collection-place.ts'
import type { CollectionName } from '../objects/collections.ts'
import { namespaceGroup } from '../objects/collections.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'
import { COLLECTION_NAMES } from '../objects/per-collection.ts'
import type { View } from '../objects/view.ts'

/** The objects of one collection that are in a namespace; at least one. */
export interface Contents {
  readonly collection: CollectionName
  readonly objects: readonly ObjectMeta[]
}

/** Everything in a namespace that anybody counts on: all but Events. */
export function contentsOf(namespace: string, view: View): readonly Contents[] {
  return COLLECTION_NAMES.filter((collection) => PLACES[collection].namespaced)
    .map((collection) => {
      const members = view[collection].group(namespaceGroup(namespace))
      return { collection, objects: [...members].map(({ meta }) => meta) }
    })
    .filter(({ objects }) => objects.length > 0)
}
