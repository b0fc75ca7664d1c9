import { ALL, type PolicyRule } from '../../../auth/rbac/policy-rule.ts'
import { uncoveredRules } from '../../../auth/rbac/uncovered-rules.ts'
import type { WriterAccess } from '../../../auth/rbac/writer-access.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import { type JsonObject, without } from '../../../lib/json.ts'
import type { StatusError } from '../../status/status.ts'
import { forbidden, type Subject } from '../../status/status-errors.ts'

/** Rules that one error lists. */
const MAX_LISTED = 10
const MAX_TEXT = 4096

/** What a role may contain that takes its rules from others: those are not known yet. */
export const EVERYTHING: readonly PolicyRule[] = [
  { verbs: [ALL], apiGroups: [ALL], resources: [ALL], resourceNames: [], nonResourceURLs: [] },
  { verbs: [ALL], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [ALL] },
]

/** 403 for who would grant rules, in a namespace or the whole cluster, without having them. */
export function escalation(
  { user, rulesIn }: WriterAccess,
  subject: Subject,
  { rules, namespace }: { readonly rules: readonly PolicyRule[]; readonly namespace: string },
): StatusError | undefined {
  const uncovered = uncoveredRules(rules, rulesIn(namespace))
  if (uncovered.length === 0) return undefined
  const who = `user ${JSON.stringify(user.name)} is attempting to grant RBAC permissions not currently held`
  if (uncovered === 'tooMany') return forbidden(subject, `${who}: too many to compare`)
  const listed = uncovered.slice(0, MAX_LISTED).map(ruleText).join('; ').slice(0, MAX_TEXT)
  const left = uncovered.length - MAX_LISTED
  return forbidden(subject, `${who}: ${listed}${left > 0 ? `; and ${left} more` : ''}`)
}

/** The rule with the lists that are not empty. */
function ruleText(rule: PolicyRule): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(rule).filter(([, list]) => list.length > 0)),
  )
}

/** Whether two states of a role or binding grant the same: they differ in their metadata alone. */
export function grantsSame(next: JsonObject, old: JsonObject): boolean {
  const content = (object: JsonObject) => without(object, 'metadata', 'kind', 'apiVersion')
  return isDeepEqual(content(next), content(old))
}
