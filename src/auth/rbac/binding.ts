import { arrayAt, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { accountUserName } from '../service-account-name.ts'
import type { User } from '../user.ts'

/** Names a Role of a namespace, or a ClusterRole, whose namespace is empty. */
export interface RoleReference {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** A user or a group as bindings name it; accounts are users. */
export type SubjectKey = string

/** A RoleBinding, or a ClusterRoleBinding, which has no namespace: the role and the subjects that it is granted to. */
export interface Binding {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding'
  /** Empty: it grants everywhere. */
  readonly namespace: string
  readonly name: string
  readonly role: RoleReference
  readonly subjects: readonly SubjectKey[]
}

/** Reads a stored binding; a subject without a name is left out. */
export function readBinding(object: JsonObject): Binding {
  const namespace = stringAt(object, 'metadata', 'namespace')
  const kind = stringAt(object, 'roleRef', 'kind')
  return {
    kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
    namespace,
    name: stringAt(object, 'metadata', 'name'),
    role: {
      kind,
      namespace: kind === 'Role' ? namespace : '',
      name: stringAt(object, 'roleRef', 'name'),
    },
    subjects: arrayAt(object, 'subjects').flatMap((subject) => subjectKey(subject, namespace)),
  }
}

/** The keys of each user, computed once because a user sends many requests. */
const KEYS_OF_USERS = new WeakMap<User, readonly SubjectKey[]>()

/** Every subject that a user is: itself and its groups. */
export function subjectKeysOf(user: User): readonly SubjectKey[] {
  const known = KEYS_OF_USERS.get(user)
  if (known !== undefined) return known
  const keys = [userKey(user.name), ...user.groups.map(groupKey)]
  KEYS_OF_USERS.set(user, keys)
  return keys
}

function subjectKey(subject: Json, bindingNamespace: string): readonly SubjectKey[] {
  const name = stringAt(subject, 'name')
  const kind = stringAt(subject, 'kind')
  if (name === '') return []
  if (kind === 'User') return [userKey(name)]
  if (kind === 'Group') return [groupKey(name)]
  const namespace = stringAt(subject, 'namespace') || bindingNamespace
  if (kind !== 'ServiceAccount' || namespace === '') return []
  return [userKey(accountUserName({ namespace, name }))]
}

function userKey(name: string): SubjectKey {
  return `user:${name}`
}

function groupKey(name: string): SubjectKey {
  return `group:${name}`
}
