import { EVERYTHING, rulesOfRole } from '../../auth/rbac/policy-rule.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { RBAC_GROUP } from '../../resources/api-groups.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Reader } from '../../resources/reader.ts'
import { type Column, column, nameColumn } from '../resource/column.ts'
import { aliasVersions, type Resource, type WriterCheck } from '../resource/resource.ts'
import { checkTexts } from './shared/checks.ts'
import { escalation, grantsSame } from './shared/escalation.ts'
import { checkLabelSelector } from './shared/label-selector.ts'

/**
 * Prevents privilege escalation, as Kubernetes RBAC does. A user who creates a Role, or changes more than its metadata,
 * must hold all of its new rules in its namespace, or have the verb `escalate` for it. The result is 403 for other
 * users.
 */
export const checkRoleWriter: WriterCheck = (writer, next, old) =>
  old !== undefined && grantsSame(next, old)
    ? undefined
    : checkEscalation('roles', writer, next, old)

/**
 * The same for a ClusterRole, whose rules the user must hold in the whole cluster. A change of its labels is checked
 * like a change of its rules, because labels can add the rules to aggregated ClusterRoles.
 */
export const checkClusterRoleWriter: WriterCheck = (writer, next, old) =>
  old !== undefined && grantsSame(next, old) && isDeepEqual(labelsOf(next), labelsOf(old))
    ? undefined
    : checkEscalation('clusterroles', writer, next, old)

const createdAt = column('Created At', 'When it was created.', (object) =>
  stringAt(object, 'metadata', 'creationTimestamp'),
)

const columns: readonly Column[] = [nameColumn, createdAt]

export const roles: Resource = {
  plural: 'roles',
  singular: 'role',
  kind: 'Role',
  namespaced: true,
  versions: aliasVersions('rbac.authorization', 'v1'),
  createOnUpdate: true,
  columns,
  checkWriter: checkRoleWriter,
  validate: checkRole,
  validateUpdate: 'none',
  defaults: 'none',
}

export const clusterRoles: Resource = {
  ...roles,
  plural: 'clusterroles',
  singular: 'clusterrole',
  kind: 'ClusterRole',
  namespaced: false,
  checkWriter: checkClusterRoleWriter,
  validate: checkClusterRole,
}

function labelsOf(role: JsonObject): JsonObject {
  return objectAt(role, 'metadata', 'labels')
}

/**
 * Returns 403 if the writer neither holds all rules of `next` nor has the verb `escalate` for this role; otherwise
 * undefined.
 */
function checkEscalation(
  plural: string,
  writer: Parameters<WriterCheck>[0],
  next: JsonObject,
  old: JsonObject | undefined,
): ReturnType<WriterCheck> {
  const name = stringAt(next, 'metadata', 'name')
  const namespace = stringAt(next, 'metadata', 'namespace')
  const subject = { plural, group: RBAC_GROUP, name }
  const action = { group: RBAC_GROUP, resource: plural, subresource: '', namespace, name }
  if (writer.permits({ verb: 'escalate', ...action })) return undefined
  // A controller determines the rules of an aggregated role later, so the role may get any rule. As in Kubernetes, this
  // also limits who may remove the aggregationRule.
  const isAggregated = [next, old].some((role) => role?.['aggregationRule'] !== undefined)
  const rules = [...rulesOfRole(next), ...(isAggregated ? EVERYTHING : [])]
  return escalation(writer, subject, { rules, namespace })
}

function checkRole(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'segment' })
  for (const rule of object.objects('rules')) {
    checkRule(rule)
    if (rule.list('nonResourceURLs').length > 0) {
      rule.refuse('nonResourceURLs', 'must be given in a ClusterRole: URLs are in no namespace')
    }
  }
}

function checkClusterRole(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'segment' })
  for (const rule of object.objects('rules')) checkRule(rule)
  if (object.value('aggregationRule') === undefined) return
  const aggregation = object.object('aggregationRule')
  const selectors = aggregation.objects('clusterRoleSelectors')
  if (selectors.length === 0) {
    aggregation.refuse('clusterRoleSelectors', 'must have at least one selector')
  }
  for (const selector of selectors) checkLabelSelector(selector)
}

/** The fields of a rule about resources, which a rule about URLs must not have. */
const RESOURCE_FIELDS = ['apiGroups', 'resources', 'resourceNames'] as const

/**
 * Checks that a rule has verbs, and is about resources or about URLs, but not both. `resourceNames` alone may be absent
 * in a rule about resources.
 */
function checkRule(rule: Reader): void {
  if (!checkTexts(rule, 'verbs')) rule.refuse('verbs', 'must have at least one verb')
  const isAboutUrls = checkTexts(rule, 'nonResourceURLs')
  for (const key of RESOURCE_FIELDS) {
    const isGiven = checkTexts(rule, key)
    if (isAboutUrls && isGiven) {
      rule.refuse(key, 'must be absent in a rule about nonResourceURLs')
    } else if (!isAboutUrls && !isGiven && key !== 'resourceNames') {
      rule.refuse(key, 'must have at least one item, or else nonResourceURLs must')
    }
  }
}
