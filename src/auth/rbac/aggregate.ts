import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, isJsonObject, type Json, type JsonObject, valueAt } from '../../lib/json.ts'

/** Says whether a label selector of an object selects labels. */
export type SelectorMatch = (selector: Json, labels: Json | undefined) => boolean

/**
 * The rules that an aggregated ClusterRole must have: the rules of all ClusterRoles that its selectors select,
 * directly or through other aggregated roles, each rule once, in the order of the roles. The stored rules of an
 * aggregated role are never a source, so roles that select each other also lose a rule that the original role
 * lost. Undefined: the role is not aggregated.
 */
export function aggregatedRules(
  role: JsonObject,
  roles: Iterable<JsonObject>,
  selects: SelectorMatch,
): readonly Json[] | undefined {
  if (!isAggregated(role)) return undefined
  const all = [...roles]
  const selected = selectedBy(role, all, selects)
  const rules: Json[] = []
  for (const source of all) {
    if (isAggregated(source) || !selected.has(source)) continue
    for (const rule of arrayAt(source, 'rules')) {
      if (!rules.some((known) => isDeepEqual(known, rule))) rules.push(rule)
    }
  }
  return rules
}

/** Whether the rules of a ClusterRole are collected from other roles. */
export function isAggregated(role: JsonObject): boolean {
  return isJsonObject(role['aggregationRule'])
}

function selectedBy(
  role: JsonObject,
  roles: readonly JsonObject[],
  selects: SelectorMatch,
): ReadonlySet<JsonObject> {
  const selected = new Set<JsonObject>()
  const aggregated = [role]
  for (const one of aggregated) {
    const selectors = arrayAt(one, 'aggregationRule', 'clusterRoleSelectors')
    for (const other of roles) {
      if (selected.has(other)) continue
      const labels = valueAt(other, 'metadata', 'labels')
      if (!selectors.some((selector) => selects(selector, labels))) continue
      selected.add(other)
      if (isAggregated(other)) aggregated.push(other)
    }
  }
  return selected
}
