import { setImmediate } from 'node:timers/promises'
import type { JsonObject } from '../../../lib/json.ts'
import type { Store, StoredEntry } from '../../../storage/store.ts'
import { ALLOCATIONS, allocationOwner } from '../../allocation/allocation-keys.ts'
import { isReadable, readItem } from '../../cache/item.ts'
import { keysHeldBy } from '../../kinds/service/allocation/held-keys.ts'
import { services } from '../../kinds/service/resource.ts'
import { storagePrefix } from '../../resource/resource.ts'
import type { Allocation, Holder, Holdings } from './audit.ts'

/** Entries that are read before the event loop runs other work. */
const PAGE = 250

/**
 * Reads allocations and Services at one revision, in pages; undefined when the store compacted that
 * revision meanwhile.
 */
export async function readHoldings(store: Store): Promise<Holdings | undefined> {
  const revision = await store.revision()
  const allocations: Allocation[] = []
  const holders: Holder[] = []
  const unreadable = new Set<string>()
  const isRead =
    (await eachEntry(store, `/${ALLOCATIONS}/`, revision, (entry) => {
      allocations.push(allocationOf(entry))
    })) &&
    (await eachEntry(store, storagePrefix(services), revision, (entry) => {
      if (isReadable(readItem(services, entry))) holders.push(holderOf(entry))
      else unreadable.add(entry.key)
    }))
  return isRead ? { allocations, holders, unreadable } : undefined
}

/** Reads all entries under a prefix at one revision. @returns whether the revision was still there */
async function eachEntry(
  store: Store,
  prefix: string,
  revision: number,
  take: (entry: StoredEntry) => void,
): Promise<boolean> {
  let last: string | undefined
  while (true) {
    const after = last === undefined ? {} : { after: last }
    const page = await store.list({ prefix, revision, limit: PAGE, ...after })
    if (page.refused !== undefined) return false
    for (const entry of page.entries) take(entry)
    if (page.remaining === 0) return true
    last = page.entries.at(-1)?.key
    await setImmediate()
  }
}

function allocationOf(entry: StoredEntry): Allocation {
  return { key: entry.key, owner: allocationOwner(entry), revision: entry.modRevision }
}

function holderOf({ key, value, modRevision, createRevision }: StoredEntry): Holder {
  const holds = keysHeldBy(JSON.parse(value.toString()) as JsonObject)
  return { key, revision: modRevision, createRevision, holds }
}
