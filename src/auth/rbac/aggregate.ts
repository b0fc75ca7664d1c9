import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, type Json, type JsonObject, valueAt } from '../../lib/json.ts'

/** Says whether a label selector of an object selects labels. */
export type SelectorMatch = (selector: Json, labels: Json | undefined) => boolean

/**
 * The rules that an aggregated ClusterRole must have: those of all ClusterRoles that one of its
 * selectors selects, each rule once, in the order of the roles. Undefined: it is not aggregated.
 */
export function aggregatedRules(
  role: JsonObject,
  roles: Iterable<JsonObject>,
  selects: SelectorMatch,
): readonly Json[] | undefined {
  if (role['aggregationRule'] === undefined) return undefined
  const selectors = arrayAt(role, 'aggregationRule', 'clusterRoleSelectors')
  const rules: Json[] = []
  for (const other of roles) {
    if (valueAt(other, 'metadata', 'name') === valueAt(role, 'metadata', 'name')) continue
    const labels = valueAt(other, 'metadata', 'labels')
    if (!selectors.some((selector) => selects(selector, labels))) continue
    for (const rule of arrayAt(other, 'rules')) {
      if (!rules.some((known) => isDeepEqual(known, rule))) rules.push(rule)
    }
  }
  return rules
}
