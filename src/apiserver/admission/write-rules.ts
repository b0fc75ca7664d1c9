import { type Authorizer, writerAccess } from '../../auth/rbac/authorizer.ts'
import type { JsonObject } from '../../lib/json.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import { type CacheReader, objectReader } from '../cache/feed.ts'
import { type ApiRequest, invalidObject } from '../request/api-request.ts'
import { validateUpdate } from '../resource/object-rules.ts'
import { refusalOf } from '../status/not-permitted.ts'
import { causeOf, type StatusError } from '../status/status.ts'

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

/** The authorizer that the rules for writers use. */
interface WriterContext {
  readonly authorizer: Authorizer
}

/** 403 for an object that this user may not write by the rules of its kind, although the verb is permitted. */
export function checkPrivileges(
  { authorizer }: WriterContext,
  request: ApiRequest,
  next: JsonObject,
  old?: JsonObject,
): StatusError | undefined {
  const { user, served } = request
  return served.resource.checkWriter?.(writerAccess(authorizer, user), next, old)
}

/** 403 when an update or an apply creates its object, and the user may not create any. */
export function checkMayCreate(
  { authorizer }: WriterContext,
  { user, served, namespace }: ApiRequest,
): StatusError | undefined {
  return refusalOf(authorizer, user, {
    verb: 'create',
    group: canonicalGroup(served.group),
    resource: served.resource.plural,
    subresource: '',
    namespace,
    name: '',
  })
}
