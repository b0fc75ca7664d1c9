import type { JsonObject } from '../../lib/json.ts'
import { type ObjectReader, storageKey, storagePrefix } from '../resource/resource.ts'
import type { CacheReader } from './feed.ts'
import type { Item } from './item.ts'

/** Decodes objects from the caches for the code of kinds, which has no other access to the server. */
export function objectReader({ feed }: CacheReader): ObjectReader {
  return {
    get: (resource, namespace, name) => {
      const item = feed.cache(resource).get(storageKey(resource, namespace, name))
      return item === undefined ? undefined : decoded(item)
    },
    list: (resource, namespace) =>
      feed.cache(resource).under(storagePrefix(resource, namespace)).values().map(decoded),
    unreadable: (resource) => feed.cache(resource).unreadable.keys(),
  }
}

function decoded({ value }: Item): JsonObject {
  return JSON.parse(value.toString()) as JsonObject
}
