import type { JsonObject } from '../../lib/json.ts'
import type { CacheReader } from '../cache/feed.ts'
import { services } from '../kinds/service.ts'
import { invalidValue } from '../status/causes.ts'
import type { StatusCause } from '../status/status.ts'
import { newlyCaptured } from './captured-addresses.ts'

/**
 * The address of a load balancer stands in the status of its Service and nowhere
 * else. While a Service cannot be read, any address may be its own, so no other
 * Service gets a new one. ClusterIPs and node ports have keys of their own.
 */
export function addressOfUnreadable(
  { feed }: CacheReader,
  next: JsonObject,
  old: JsonObject | undefined,
): StatusCause | undefined {
  const [holder] = feed.cache(services).unreadable.keys()
  if (holder === undefined) return undefined
  const added = newlyCaptured(next, old).find(({ field }) => field.startsWith('status.'))
  if (added === undefined) return undefined
  const why = `may belong to the Service at ${JSON.stringify(holder)}, which cannot be read; delete that one first`
  return invalidValue(added.field, added.text, why)
}
