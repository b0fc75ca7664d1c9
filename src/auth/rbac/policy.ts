import { type JsonObject, stringAt } from '../../lib/json.ts'
import { type Action, isPathAction, type ResourceAction } from '../action.ts'
import type { User } from '../user.ts'
import {
  type Binding,
  type RoleReference,
  readBinding,
  type SubjectKey,
  subjectKeysOf,
} from './binding.ts'
import { ALL, type PolicyRule, permitsPath, rulesOfRole } from './policy-rule.ts'

/**
 * All roles and bindings, indexed by subject: a lookup costs what its user is granted, however many bindings
 * there are. Setting an object replaces the one of the same kind, namespace and name.
 */
export class Policy {
  readonly #roles = new Map<string, readonly PolicyRule[]>()
  readonly #bindings = new Map<string, Binding>()
  /** By namespace, empty for the whole cluster. */
  readonly #granted = new Map<string, Map<SubjectKey, Set<Binding>>>()
  /** Built at the first lookup of a subject; all are discarded when anything changes. */
  readonly #indexes = new Map<string, Map<SubjectKey, GrantIndex>>()

  /** Takes a stored Role (with a namespace) or ClusterRole (without). */
  setRole(role: JsonObject): void {
    this.#roles.set(roleKey(referenceTo(role)), rulesOfRole(role))
    this.#indexes.clear()
  }

  deleteRole(role: RoleReference): void {
    this.#roles.delete(roleKey(role))
    this.#indexes.clear()
  }

  /** Takes a stored RoleBinding (with a namespace) or ClusterRoleBinding (without). */
  setBinding(object: JsonObject): void {
    const binding = readBinding(object)
    this.deleteBinding(binding)
    this.#indexes.clear()
    this.#bindings.set(bindingKey(binding), binding)
    const granted = this.#granted.get(binding.namespace) ?? new Map<SubjectKey, Set<Binding>>()
    this.#granted.set(binding.namespace, granted)
    for (const subject of binding.subjects) {
      const bindings = granted.get(subject) ?? new Set()
      granted.set(subject, bindings.add(binding))
    }
  }

  deleteBinding(named: Pick<Binding, 'namespace' | 'name'>): void {
    const binding = this.#bindings.get(bindingKey(named))
    if (binding === undefined) return
    this.#indexes.clear()
    this.#bindings.delete(bindingKey(named))
    const granted = this.#granted.get(binding.namespace)
    for (const subject of binding.subjects) {
      const bindings = granted?.get(subject)
      bindings?.delete(binding)
      if (bindings?.size === 0) granted?.delete(subject)
    }
    if (granted?.size === 0) this.#granted.delete(binding.namespace)
  }

  /** The rules of a role; undefined: the role does not exist. */
  rulesOf(role: RoleReference): readonly PolicyRule[] | undefined {
    return this.#roles.get(roleKey(role))
  }

  /**
   * What a user is granted in a namespace and in the whole cluster: one index for each subject that the user
   * matches.
   */
  *indexesOf(user: User, namespace: string): Iterable<GrantIndex> {
    const subjects = subjectKeysOf(user)
    for (const scope of namespace === '' ? [''] : ['', namespace]) {
      const granted = this.#granted.get(scope)
      if (granted === undefined) continue
      for (const subject of subjects) {
        const bindings = granted.get(subject)
        if (bindings !== undefined) yield this.#indexOf(scope, subject, bindings)
      }
    }
  }

  #indexOf(scope: string, subject: SubjectKey, bindings: ReadonlySet<Binding>): GrantIndex {
    const indexes = this.#indexes.get(scope) ?? new Map<SubjectKey, GrantIndex>()
    this.#indexes.set(scope, indexes)
    const known = indexes.get(subject)
    if (known !== undefined) return known
    const grants = [...bindings].map((binding) => ({ binding, rules: this.rulesOf(binding.role) }))
    const made = new GrantIndex(grants)
    indexes.set(subject, made)
    return made
  }

  /**
   * What a user is granted in a namespace, grants for the whole cluster first; an empty namespace: only those.
   * A binding that names the user twice is returned twice.
   */
  *grantsTo(user: User, namespace: string): Iterable<Grant> {
    const subjects = subjectKeysOf(user)
    for (const scope of namespace === '' ? [''] : ['', namespace]) {
      const granted = this.#granted.get(scope)
      if (granted === undefined) continue
      for (const subject of subjects) {
        for (const binding of granted.get(subject) ?? []) {
          yield { binding, rules: this.rulesOf(binding.role) }
        }
      }
    }
  }
}

function referenceTo(role: JsonObject): RoleReference {
  const namespace = stringAt(role, 'metadata', 'namespace')
  const name = stringAt(role, 'metadata', 'name')
  return { kind: namespace === '' ? 'ClusterRole' : 'Role', namespace, name }
}

/** No namespace or name contains a slash. */
function roleKey({ kind, namespace, name }: RoleReference): string {
  return `${kind}/${namespace}/${name}`
}

function bindingKey({ namespace, name }: Pick<Binding, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}

/** What one binding grants for one combination of verb, group and resource. */
interface Entry {
  readonly binding: Binding
  /** Empty: every object. */
  readonly names: readonly string[]
}

/** The rules of one binding; undefined: its role does not exist. */
interface Grant {
  readonly binding: Binding
  readonly rules: readonly PolicyRule[] | undefined
}

/**
 * Everything that one subject is granted in one namespace, or in the whole cluster, indexed by verb, group and
 * resource: a decision costs a few lookups, however many bindings name the subject.
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

/** An action without a name is about many objects; a rule with resource names does not permit it. */
function permitsName(entries: readonly Entry[] | undefined, name: string): Binding | undefined {
  return entries?.find(({ names }) => names.length === 0 || (name !== '' && names.includes(name)))
    ?.binding
}

/** Adds an entry. One that covers every object makes the others of its verb, group and resource redundant. */
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
