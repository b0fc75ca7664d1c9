import { type Action, isPathAction, type ResourceAction } from '../action.ts'
import type { Binding } from './binding.ts'
import { permitsPath } from './path-rule.ts'
import { ALL, type PolicyRule } from './policy-rule.ts'

/** What one binding grants for one combination of verb, group and resource. */
interface Entry {
  readonly binding: Binding
  /** Empty: every object. */
  readonly names: readonly string[]
}

/** The rules of one binding; undefined: its role does not exist. */
export interface Grant {
  readonly binding: Binding
  readonly rules: readonly PolicyRule[] | undefined
}

/**
 * All that one subject is granted in one namespace, or in the whole cluster, found by verb, group
 * and resource: a question costs a few lookups, however many bindings name the subject.
 */
export class GrantIndex {
  /** Bindings whose role does not exist. */
  readonly incomplete: readonly Binding[]
  /** By verb, then by group, then by resource as rules write it. */
  readonly #resources = new Map<string, Map<string, Map<string, Entry[]>>>()
  readonly #paths: { readonly rule: PolicyRule; readonly binding: Binding }[] = []

  constructor(grants: Iterable<Grant>) {
    const incomplete: Binding[] = []
    for (const { binding, rules } of grants) {
      if (rules === undefined) incomplete.push(binding)
      for (const rule of rules ?? []) this.#add(binding, rule)
    }
    this.incomplete = incomplete
  }

  /** A binding that permits the action; undefined: none does. */
  permits(action: Action): Binding | undefined {
    if (isPathAction(action)) {
      return this.#paths.find(({ rule }) => permitsPath(rule, action))?.binding
    }
    return this.#permitsVerb(action, action.verb) ?? this.#permitsVerb(action, ALL)
  }

  #permitsVerb(action: ResourceAction, verb: string): Binding | undefined {
    const groups = this.#resources.get(verb)
    if (groups === undefined) return undefined
    return (
      permitsResource(groups.get(action.group), action) ?? permitsResource(groups.get(ALL), action)
    )
  }

  #add(binding: Binding, rule: PolicyRule): void {
    if (rule.nonResourceURLs.length > 0) this.#paths.push({ rule, binding })
    const entry = { binding, names: rule.resourceNames }
    for (const verb of rule.verbs) {
      const groups = entryOf(this.#resources, verb, () => new Map<string, Map<string, Entry[]>>())
      for (const group of rule.apiGroups) {
        const resources = entryOf(groups, group, () => new Map<string, Entry[]>())
        for (const resource of rule.resources)
          add(
            entryOf(resources, resource, () => []),
            entry,
          )
      }
    }
  }
}

function permitsResource(
  resources: ReadonlyMap<string, readonly Entry[]> | undefined,
  { resource, subresource, name }: ResourceAction,
): Binding | undefined {
  if (resources === undefined) return undefined
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  const found = permitsName(resources.get(whole), name) ?? permitsName(resources.get(ALL), name)
  if (found !== undefined || subresource === '') return found
  return permitsName(resources.get(`${ALL}/${subresource}`), name)
}

/** An action without a name is about many objects, which a rule about some of them does not permit. */
function permitsName(entries: readonly Entry[] | undefined, name: string): Binding | undefined {
  return entries?.find(({ names }) => names.length === 0 || (name !== '' && names.includes(name)))
    ?.binding
}

/** An entry for every object makes all others of its combination needless. */
function add(entries: Entry[], entry: Entry): void {
  if (entries[0]?.names.length === 0) return
  if (entry.names.length === 0) entries.length = 0
  entries.push(entry)
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make()
  map.set(key, found)
  return found
}
