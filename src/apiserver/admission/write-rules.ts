import type { JsonObject } from '../../lib/json.ts'
import type { CacheReader } from '../cache/feed.ts'
import { objectReader } from '../cache/object-reader.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { invalidObject } from '../request/invalid-object.ts'
import { validateUpdate } from '../resource/object-rules.ts'
import { causeOf } from '../status/causes.ts'
import type { StatusError } from '../status/status.ts'

/**
 * 422 for an object that is valid by itself, but not as an update of the old one, or not together with other
 * objects of the cluster.
 */
export function checkWrite(
  context: CacheReader,
  request: ApiRequest,
  next: JsonObject,
  old?: JsonObject,
): StatusError | undefined {
  const { resource } = request.served
  const fixed = old === undefined ? [] : validateUpdate(resource, next, old).map(causeOf)
  const among = resource.checkAmong?.(objectReader(context), next, old)
  const causes = among === undefined ? fixed : [...fixed, among]
  if (causes.length > 0) return invalidObject(request, next, causes)
  for (const text of resource.warnings?.(next, old) ?? []) request.warn(text)
  return undefined
}
