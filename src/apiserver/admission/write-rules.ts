import type { JsonObject } from '../../lib/json.ts'
import { validateUpdate } from '../../resources/validate-update.ts'
import type { CacheReader } from '../cache/feed.ts'
import { services } from '../kinds/service.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { invalidObject } from '../request/invalid-object.ts'
import { captureWarnings } from '../services/capture-warnings.ts'
import { nodeCapture } from '../services/node-capture.ts'
import { addressOfUnreadable } from '../services/unreadable-holders.ts'
import { causeOf } from '../status/causes.ts'
import type { StatusError } from '../status/status.ts'

/**
 * 422 for an object that is valid by itself, but not as the successor of the old
 * one or beside the other objects of the cluster.
 */
export function checkWrite(
  context: CacheReader,
  request: ApiRequest,
  next: JsonObject,
  old?: JsonObject,
): StatusError | undefined {
  const { resource } = request.served
  const fixed = old === undefined ? [] : validateUpdate(resource.kind, next, old).map(causeOf)
  const captured =
    resource === services
      ? (nodeCapture(context, next, old) ?? addressOfUnreadable(context, next, old))
      : undefined
  const causes = captured === undefined ? fixed : [...fixed, captured]
  if (causes.length > 0) return invalidObject(request, next, causes)
  if (resource === services) for (const text of captureWarnings(next, old)) request.warn(text)
  return undefined
}
