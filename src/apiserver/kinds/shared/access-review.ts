import type { Action } from '../../../auth/action.ts'
import type { Authorizer } from '../../../auth/rbac/authorizer.ts'
import type { User } from '../../../auth/user.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../lib/json.ts'
import { canonicalGroup } from '../../../resources/api-groups.ts'
import type { Reader } from '../../../resources/reader.ts'

/** Of an access review: it is about a resource or about a path, never both. */
export function checkAccess(spec: Reader): void {
  const isAbout = (key: string): boolean => spec.value(key) !== undefined
  const isAboutResource = isAbout('resourceAttributes')
  if (isAboutResource !== isAbout('nonResourceAttributes')) return
  if (isAboutResource) {
    spec.refuse('nonResourceAttributes', 'must be absent beside resourceAttributes')
  } else {
    spec.refuse('resourceAttributes', 'must be given, or else nonResourceAttributes must')
  }
}

/** Of an access review about any user: it names a user, or groups. */
export function checkUser(spec: Reader): void {
  const user = spec.text('user') ?? ''
  if (user === '' && spec.list('groups').length === 0) {
    spec.refuse('user', 'must be given, or else groups must')
  }
}

/** The user that an access review is about. */
export function reviewedUser(spec: JsonObject): User {
  const uid = stringAt(spec, 'uid')
  const extra = Object.keys(objectAt(spec, 'extra')).map(
    (key) => [key, texts(spec, 'extra', key)] as const,
  )
  return {
    name: stringAt(spec, 'user'),
    groups: texts(spec, 'groups'),
    ...(uid !== '' && { uid }),
    ...(extra.length > 0 && { extra: new Map(extra) }),
  }
}

/** `status` of an access review: what the authorizer decides, and why. */
export function accessStatus(authorizer: Authorizer, user: User, spec: JsonObject): JsonObject {
  const { isAllowed, reason } = authorizer.authorize(user, actionOf(spec))
  return { allowed: isAllowed, ...(reason !== '' && { reason }) }
}

function actionOf(spec: JsonObject): Action {
  const path = objectAt(spec, 'nonResourceAttributes')
  if (valueAt(spec, 'resourceAttributes') === undefined) {
    return { verb: stringAt(path, 'verb'), path: stringAt(path, 'path') }
  }
  const attributes = objectAt(spec, 'resourceAttributes')
  return {
    verb: stringAt(attributes, 'verb'),
    group: canonicalGroup(stringAt(attributes, 'group')),
    resource: stringAt(attributes, 'resource'),
    subresource: stringAt(attributes, 'subresource'),
    namespace: stringAt(attributes, 'namespace'),
    name: stringAt(attributes, 'name'),
  }
}

function texts(spec: JsonObject, ...path: readonly string[]): readonly string[] {
  return arrayAt(spec, ...path).filter((one) => typeof one === 'string')
}
