import { type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import type { ResourceAction } from '../action.ts'
import type { User } from '../user.ts'

/** The objects of a small cluster, in stored form. */
export interface RbacObjects {
  readonly roles: readonly JsonObject[]
  readonly bindings: readonly JsonObject[]
}

/**
 * A textbook implementation of RBAC that shares no code with the real one and has no index: it loops over each
 * binding, each subject and each rule.
 */
export function naivelyAllowed(
  { roles, bindings }: RbacObjects,
  user: User,
  action: ResourceAction | { readonly verb: string; readonly path: string },
): boolean {
  for (const binding of bindings) {
    const home = stringAt(binding, 'metadata', 'namespace')
    if (home !== '' && ('path' in action || action.namespace !== home)) continue
    if (!list(binding['subjects']).some((subject) => isSubject(subject, user, home))) continue
    const roleKind = stringAt(binding, 'roleRef', 'kind')
    for (const role of roles) {
      const roleHome = stringAt(role, 'metadata', 'namespace')
      if (stringAt(role, 'metadata', 'name') !== stringAt(binding, 'roleRef', 'name')) continue
      if (roleKind === 'ClusterRole' ? roleHome !== '' : roleHome !== home || home === '') continue
      if (list(role['rules']).some((rule) => naivelyPermitted(rule, action))) return true
    }
  }
  return false
}

function isSubject(subject: Json, user: User, home: string): boolean {
  const name = stringAt(subject, 'name')
  switch (stringAt(subject, 'kind')) {
    case 'User':
      return user.name === name
    case 'Group':
      return user.groups.includes(name)
    default:
      return user.name === `system:serviceaccount:${stringAt(subject, 'namespace') || home}:${name}`
  }
}

/** Whether one rule of a role permits an action, wherever the role is bound. */
export function naivelyPermitted(
  rule: Json,
  action: ResourceAction | { readonly verb: string; readonly path: string },
): boolean {
  const of = (key: string): string[] => list((rule as JsonObject)[key]).map(String)
  const verbs = of('verbs')
  if (!verbs.includes('*') && !verbs.includes(action.verb)) return false
  if ('path' in action) {
    for (const url of of('nonResourceURLs')) {
      if (url === action.path || url === '*') return true
      if (url.at(-1) === '*' && action.path.indexOf(url.slice(0, -1)) === 0) return true
    }
    return false
  }
  const groups = of('apiGroups').map((group) => group.replace(/\.orch\.io$/u, '.k8s.io'))
  if (!groups.includes('*') && !groups.includes(action.group)) return false
  const names = of('resourceNames')
  if (names.length > 0 && (action.name === '' || !names.includes(action.name))) return false
  const accepted =
    action.subresource === ''
      ? ['*', action.resource]
      : ['*', `${action.resource}/${action.subresource}`, `*/${action.subresource}`]
  return of('resources').some((one) => accepted.includes(one))
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
