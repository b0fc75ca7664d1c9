import { type Action, isPathAction, type ResourceAction } from '../../../auth/action.ts'
import type { User } from '../../../auth/user.ts'
import { canonicalGroup } from '../../../resources/api-groups.ts'
import type { AuditPolicy, AuditRule, ResourceSelector } from './audit-policy.ts'

/**
 * The first rule that matches what a user does; undefined: none does, and nothing is audited.
 * A request without a user matches no rule that names users or groups. As kube-apiserver's
 * `audit/policy/checker.go`, with groups of two names compared by their canonical one.
 */
export function findRule(
  { rules }: AuditPolicy,
  user: User | undefined,
  action: Action,
): AuditRule | undefined {
  return rules.find((rule) => matchesUser(rule, user) && matchesAction(rule, action))
}

function matchesUser({ users, userGroups }: AuditRule, user: User | undefined): boolean {
  if (users !== undefined && (user === undefined || !users.has(user.name))) return false
  if (userGroups === undefined) return true
  return user !== undefined && user.groups.some((group) => userGroups.has(group))
}

function matchesAction(rule: AuditRule, action: Action): boolean {
  const { verbs, namespaces, resources, nonResourceURLs } = rule
  if (verbs !== undefined && !verbs.has(action.verb)) return false
  if (namespaces !== undefined || resources !== undefined) {
    return !isPathAction(action) && matchesResource(rule, action)
  }
  if (nonResourceURLs === undefined) return true
  if (!isPathAction(action)) return false
  return nonResourceURLs.some((pattern) => matchesPath(pattern, action.path))
}

function matchesPath(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)))
}

function matchesResource({ namespaces, resources }: AuditRule, action: ResourceAction): boolean {
  if (namespaces !== undefined && !namespaces.has(action.namespace)) return false
  return resources === undefined || resources.some((selector) => selects(selector, action))
}

function selects(selector: ResourceSelector, action: ResourceAction): boolean {
  const { group, resources, resourceNames } = selector
  if (group !== canonicalGroup(action.group)) return false
  if (resources.length === 0) return true
  if (resourceNames.size > 0 && !resourceNames.has(action.name)) return false
  return resources.some((pattern) => namesResource(pattern, action))
}

/** `pods` is no subresource of pods; `pods/*` is every one and the Pods themselves. */
function namesResource(pattern: string, { resource, subresource }: ResourceAction): boolean {
  if (pattern === '*') return true
  if (pattern === (subresource === '' ? resource : `${resource}/${subresource}`)) return true
  return pattern === `*/${subresource}` || pattern === `${resource}/*`
}
