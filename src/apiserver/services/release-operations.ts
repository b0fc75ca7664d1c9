import type { JsonObject } from '../../lib/json.ts'
import type { Operation, Store } from '../../storage/store.ts'
import { keysHeldBy, ownerOf } from './claim.ts'

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
    const { key, value } = entry
    return ['', owner].includes(ownerOf(value)) ? [{ op: 'delete', key } as const] : []
  })
}
