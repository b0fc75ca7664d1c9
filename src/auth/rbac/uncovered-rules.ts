import { ALL, coversPath, type PolicyRule } from './policy-rule.ts'

/** The most string comparisons of one call; they take about ten milliseconds. */
const MAX_COMPARISONS = 1_000_000

/** The most combinations of verb, group, resource and name that one call examines. */
const MAX_COMBINATIONS = 20_000

/** The rules that a user would grant without holding them; `tooMany`: there are too many to compare. */
export type Uncovered = readonly PolicyRule[] | 'tooMany'

/**
 * The parts of `granted` that no rule of `held` covers, each of one verb and one resource or path: a user who
 * grants them would give more than the user has. A rule is divided only where no single held rule covers it
 * completely. The work is bounded, because the writer controls the size of both lists and other requests wait
 * meanwhile.
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

/** The lists of a rule, as sets for repeated lookups. */
interface Lists {
  readonly verbs: ReadonlySet<string>
  readonly apiGroups: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
  /** Empty: every object. */
  readonly resourceNames: ReadonlySet<string>
  readonly nonResourceURLs: readonly string[]
}

/** The rules that a user holds. After `MAX_COMPARISONS` it is exhausted: it then covers nothing more. */
class HeldRules {
  readonly #rules: readonly PolicyRule[]
  readonly #lists = new Map<PolicyRule, Lists>()
  #left = MAX_COMPARISONS

  constructor(rules: readonly PolicyRule[]) {
    this.#rules = rules
  }

  get isExhausted(): boolean {
    return this.#left <= 0
  }

  /** Whether one of the rules permits all that another permits. */
  cover(other: PolicyRule): boolean {
    return this.#rules.some((one) => !this.isExhausted && this.#covers(this.#listsOf(one), other))
  }

  #covers(held: Lists, other: PolicyRule): boolean {
    return (
      this.#all(other.verbs, (verb) => hasOrAll(held.verbs, verb)) &&
      this.#all(other.apiGroups, (group) => hasOrAll(held.apiGroups, group)) &&
      this.#all(other.resources, (resource) => hasResource(held.resources, resource)) &&
      this.#all(other.nonResourceURLs, (url) => this.#hasPath(held.nonResourceURLs, url)) &&
      this.#coversNames(held.resourceNames, other.resourceNames)
    )
  }

  #coversNames(held: ReadonlySet<string>, others: readonly string[]): boolean {
    if (held.size === 0) return true
    return others.length > 0 && this.#all(others, (name) => held.has(name))
  }

  #hasPath(held: readonly string[], path: string): boolean {
    this.#left -= held.length
    return held.some((url) => coversPath(url, path))
  }

  /** Whether `isHeld` accepts all texts; also false once the comparisons are exhausted. */
  #all(texts: readonly string[], isHeld: (text: string) => boolean): boolean {
    return texts.every((text) => this.#left-- > 0 && isHeld(text))
  }

  #listsOf(rule: PolicyRule): Lists {
    const known = this.#lists.get(rule)
    if (known !== undefined) return known
    const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
    const made = {
      verbs: new Set(verbs),
      apiGroups: new Set(apiGroups),
      resources: new Set(resources),
      resourceNames: new Set(resourceNames),
      nonResourceURLs,
    }
    this.#lists.set(rule, made)
    this.#left -= verbs.length + apiGroups.length + resources.length + resourceNames.length
    return made
  }
}

function hasOrAll(held: ReadonlySet<string>, text: string): boolean {
  return held.has(text) || held.has(ALL)
}

/** `pods` does not cover `pods/log`; `*`, `pods/log` and `*` with `/log` do. */
function hasResource(held: ReadonlySet<string>, resource: string): boolean {
  if (hasOrAll(held, resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && held.has(`${ALL}${resource.slice(slash)}`)
}
