import type { CollectionName } from '../cache/collections.ts'
import { COLLECTION_NAMES } from '../cache/per-collection.ts'
import type { View } from '../cache/view.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'

/** An object of any collection: which one, and its metadata. */
export interface FoundObject {
  readonly collection: CollectionName
  readonly meta: ObjectMeta
}

/** A key of the garbage collector: collection and key of one object, `pods shop/web-1`. */
export function objectKey(collection: CollectionName, key: string): string {
  return `${collection} ${key}`
}

/** The object with this key in the caches; undefined when they have none. */
export function findObject(objectKey: string, view: View): FoundObject | undefined {
  const [plural = '', key = ''] = objectKey.split(' ')
  const collection = COLLECTION_NAMES.find((name) => name === plural)
  const meta = collection && view[collection].get(key)?.meta
  return collection && meta && { collection, meta }
}
