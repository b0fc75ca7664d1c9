import { coversPath } from './path-rule.ts'
import { ALL, type PolicyRule } from './policy-rule.ts'

/** Texts that are compared in one question: some ten milliseconds. */
const MAX_COMPARISONS = 1_000_000

/** The lists of a rule, for many questions. */
interface Lists {
  readonly verbs: ReadonlySet<string>
  readonly apiGroups: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
  /** Empty: every object. */
  readonly resourceNames: ReadonlySet<string>
  readonly nonResourceURLs: readonly string[]
}

/** The rules that a user holds. When it compared too much, it covers nothing more, and `isExhausted`. */
export class HeldRules {
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

  /** False, too, when too much was compared. */
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

/** `pods` does not cover `pods/log`; every resource, or that subresource of all, does. */
function hasResource(held: ReadonlySet<string>, resource: string): boolean {
  if (hasOrAll(held, resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && held.has(`${ALL}${resource.slice(slash)}`)
}
