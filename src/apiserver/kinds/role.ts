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

/** Lists that say which resources a rule is about. */
const ABOUT_RESOURCES = ['apiGroups', 'resources', 'resourceNames'] as const

/** 403 for a user who adds rules to a Role without holding them in its namespace. */
export const checkRoleWriter: WriterCheck = (writer, next, old) =>
  old !== undefined && grantsSame(next, old) ? undefined : checkRules('roles', writer, next, old)

/** The same for a ClusterRole. Its labels count, too, because they add its rules to aggregated roles. */
export const checkClusterRoleWriter: WriterCheck = (writer, next, old) =>
  old !== undefined && grantsSame(next, old) && isDeepEqual(labelsOf(next), labelsOf(old))
    ? undefined
    : checkRules('clusterroles', writer, next, old)

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

function checkRules(
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
  // The rules of an aggregated role are not known yet, so it may contain any rule.
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

/** A rule is about resources or about URLs, never both. */
function checkRule(rule: Reader): void {
  if (!checkTexts(rule, 'verbs')) rule.refuse('verbs', 'must have at least one verb')
  const isAboutUrls = checkTexts(rule, 'nonResourceURLs')
  for (const key of ABOUT_RESOURCES) {
    const isGiven = checkTexts(rule, key)
    if (isAboutUrls && isGiven) {
      rule.refuse(key, 'must be absent in a rule about nonResourceURLs')
    } else if (!isAboutUrls && !isGiven && key !== 'resourceNames') {
      rule.refuse(key, 'must have at least one item, or else nonResourceURLs must')
    }
  }
}
