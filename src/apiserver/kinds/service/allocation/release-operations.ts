import type { JsonObject } from '../../../../lib/json.ts'
import type { Operation, Store } from '../../../../storage/store.ts'
import { ALLOCATIONS, allocationOwner } from '../../../allocation/allocation-keys.ts'
import { keysHeldBy } from './held-keys.ts'

/** The keys of the allocations whose owner is the Service with the storage key `owner`. */
export async function allocationsOf(
  store: Pick<Store, 'list'>,
  owner: string,
): Promise<readonly string[]> {
  const page = await store.list({ prefix: `/${ALLOCATIONS}/` })
  if (page.refused !== undefined) return []
  return page.entries.filter((entry) => allocationOwner(entry) === owner).map(({ key }) => key)
}

/**
 * The operations that release the addresses and ports of the Service with the storage key `owner`; its deletion
 * adds them to its transaction. After damage two Services may have the same address or port; then only the one
 * that the allocation names releases it.
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
