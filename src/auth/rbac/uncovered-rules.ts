import { ALL, type PolicyRule } from './policy-rule.ts'
import { coversPath, coversResource } from './rule-matches.ts'

/** Combinations of verb, group, resource and name that are looked at in one question. */
const MAX_COMBINATIONS = 20_000

/** What a user would grant without having it; `tooMany`: the rules are too large to compare. */
export type Uncovered = readonly PolicyRule[] | 'tooMany'

/**
 * The parts of `granted` that no rule of `held` covers, each of one verb and one resource or path:
 * who grants them would give away more than it has. A rule is divided only where no single held
 * rule covers it whole, and no further than a bound.
 */
export function uncoveredRules(
  granted: readonly PolicyRule[],
  held: readonly PolicyRule[],
): Uncovered {
  const parts: PolicyRule[] = []
  let budget = MAX_COMBINATIONS
  for (const rule of granted) {
    if (held.some((one) => covers(one, rule))) continue
    budget -= combinationsOf(rule)
    if (budget < 0) return 'tooMany'
    for (const part of partsOf(rule)) {
      if (!held.some((one) => covers(one, part))) parts.push(part)
    }
  }
  return parts
}

/** Whether one rule permits all that another permits. */
function covers(held: PolicyRule, other: PolicyRule): boolean {
  return (
    coversAll(held.verbs, other.verbs, isSameOrAll) &&
    coversAll(held.apiGroups, other.apiGroups, isSameOrAll) &&
    coversAll(held.resources, other.resources, coversResource) &&
    coversAll(held.nonResourceURLs, other.nonResourceURLs, coversPath) &&
    coversNames(held.resourceNames, other.resourceNames)
  )
}

function coversAll(
  held: readonly string[],
  others: readonly string[],
  coversOne: (held: string, other: string) => boolean,
): boolean {
  return others.every((other) => held.some((one) => coversOne(one, other)))
}

function isSameOrAll(held: string, other: string): boolean {
  return held === ALL || held === other
}

/** No names mean every object. */
function coversNames(held: readonly string[], others: readonly string[]): boolean {
  if (held.length === 0) return true
  return others.length > 0 && others.every((name) => held.includes(name))
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
