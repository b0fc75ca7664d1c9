import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import { writerAccess } from '../../auth/rbac/writer-access.ts'
import type { JsonObject } from '../../lib/json.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { refusalOf } from '../status/not-permitted.ts'
import type { StatusError } from '../status/status.ts'

/** The authorizer that the rules for writers use. */
export interface WriterContext {
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
