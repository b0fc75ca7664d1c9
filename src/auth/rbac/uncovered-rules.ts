import { HeldRules } from './held-rules.ts'
import type { PolicyRule } from './policy-rule.ts'

/** Combinations of verb, group, resource and name that are looked at in one question. */
const MAX_COMBINATIONS = 20_000

/** What a user would grant without having it; `tooMany`: the rules are too large to compare. */
export type Uncovered = readonly PolicyRule[] | 'tooMany'

/**
 * The parts of `granted` that no rule of `held` covers, each of one verb and one resource or path:
 * who grants them would give away more than it has. A rule is divided only where no single held
 * rule covers it whole, and no further than a bound: a writer chooses both lists, and others wait.
 */
export function uncoveredRules(
  granted: readonly PolicyRule[],
  held: readonly PolicyRule[],
): Uncovered {
  const parts: PolicyRule[] = []
  const rules = new HeldRules(held)
  let budget = MAX_COMBINATIONS
  for (const rule of granted) {
    if (rules.cover(rule)) continue
    budget -= combinationsOf(rule)
    if (budget < 0 || rules.isExhausted) return 'tooMany'
    for (const part of partsOf(rule)) {
      if (!rules.cover(part)) parts.push(part)
    }
  }
  return rules.isExhausted ? 'tooMany' : parts
}

function combinationsOf(rule: PolicyRule): number {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
  const ofObjects = apiGroups.length * resources.length * Math.max(1, resourceNames.length)
  return verbs.length * (ofObjects + nonResourceURLs.length)
}

/** One part for each combination of what a rule lists. */
function* partsOf(rule: PolicyRule): Iterable<PolicyRule> {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name])
  const none = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] }
  for (const verb of rule.verbs) {
    const verbs = [verb]
    for (const url of rule.nonResourceURLs) yield { ...none, verbs, nonResourceURLs: [url] }
    for (const group of rule.apiGroups) {
      for (const resource of rule.resources) {
        for (const resourceNames of names) {
          yield { ...none, verbs, apiGroups: [group], resources: [resource], resourceNames }
        }
      }
    }
  }
}
