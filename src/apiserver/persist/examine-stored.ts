import type { StoredEntry } from '../../storage/store.ts'
import { ALLOCATIONS, allocationOwner } from '../allocation/allocation-keys.ts'
import { isReadable, readItem } from '../cache/item.ts'
import { catalogue } from '../kinds/catalogue.ts'

/**
 * Why the server cannot use what is stored under a key, as its caches would find
 * when they load it; undefined: it can, or the key is of a kind that is not known here.
 */
export function examineStored(entry: StoredEntry): string | undefined {
  const root = entry.key.slice(1, entry.key.indexOf('/', 1))
  if (root === ALLOCATIONS) {
    return allocationOwner(entry) === '' ? 'the allocation names no Service' : undefined
  }
  const resource = catalogue.find(({ plural }) => plural === root)
  if (resource === undefined) return undefined
  const item = readItem(resource, entry)
  return isReadable(item) ? undefined : item.cause
}
