import { EVERYTHING, rulesOfRole } from '../../../auth/rbac/policy-rule.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { RBAC_GROUP } from '../../../resources/api-groups.ts'
import type { WriterCheck } from '../../resource/resource.ts'
import { escalation, grantsSame } from '../shared/escalation.ts'

/** 403 for who would put rules into a Role without having them in its namespace. */
export const checkRoleWriter: WriterCheck = (writer, next, old) =>
  old !== undefined && grantsSame(next, old) ? undefined : checkRules('roles', writer, next, old)

/** The same of a ClusterRole. Its labels count, too: they put its rules into aggregated roles. */
export const checkClusterRoleWriter: WriterCheck = (writer, next, old) =>
  old !== undefined && grantsSame(next, old) && isDeepEqual(labelsOf(next), labelsOf(old))
    ? undefined
    : checkRules('clusterroles', writer, next, old)

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
  // A role that takes its rules from others may contain any: they are not known yet.
  const isAggregated = [next, old].some((role) => role?.['aggregationRule'] !== undefined)
  const rules = [...rulesOfRole(next), ...(isAggregated ? EVERYTHING : [])]
  return escalation(writer, subject, { rules, namespace })
}
