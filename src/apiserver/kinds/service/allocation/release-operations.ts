import type { JsonObject } from '../../../../lib/json.ts'
import type { Operation, Store } from '../../../../storage/store.ts'
import { ALLOCATIONS, allocationOwner } from '../../../allocation/allocation-keys.ts'
import { keysHeldBy } from './held-keys.ts'

/** The allocation keys that are in the name of the Service under the storage key `owner`. */
export async function allocationsOf(
  store: Pick<Store, 'list'>,
  owner: string,
): Promise<readonly string[]> {
  const page = await store.list({ prefix: `/${ALLOCATIONS}/` })
  if (page.refused !== undefined) return []
  return page.entries.filter((entry) => allocationOwner(entry) === owner).map(({ key }) => key)
}

/**
 * What the deletion of the Service under the storage key `owner` must add to its
 * transaction: it gives back what it holds. After damage two Services may hold the
 * same; then only the one in whose name it is gives it back.
 */
export async function releaseOperations(
  store: Pick<Store, 'get'>,
  owner: string,
  service: JsonObject,
): Promise<readonly Operation[]> {
  const entries = await Promise.all([...keysHeldBy(service)].map((key) => store.get(key)))
  return entries.flatMap((entry) => {
    if (entry === undefined) return []
    const isTheirs = ['', owner].includes(allocationOwner(entry))
    return isTheirs ? [{ op: 'delete', key: entry.key } as const] : []
  })
}
