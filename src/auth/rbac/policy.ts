import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { User } from '../user.ts'
import {
  type Binding,
  type RoleReference,
  readBinding,
  type SubjectKey,
  subjectKeysOf,
} from './binding.ts'
import { type Grant, GrantIndex } from './grant-index.ts'
import { type PolicyRule, rulesOfRole } from './policy-rule.ts'

/**
 * All roles and bindings, found by subject: a question costs what its user is granted, however
 * many bindings there are. An object replaces the one of its kind, namespace and name.
 */
export class Policy {
  readonly #roles = new Map<string, readonly PolicyRule[]>()
  readonly #bindings = new Map<string, Binding>()
  /** By namespace, empty for the whole cluster. */
  readonly #granted = new Map<string, Map<SubjectKey, Set<Binding>>>()
  /** Made at the first question about a subject; all are forgotten when anything changes. */
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

  /** The rules of a role; undefined: there is none of this name. */
  rulesOf(role: RoleReference): readonly PolicyRule[] | undefined {
    return this.#roles.get(roleKey(role))
  }

  /** The same of each subject that the user is, as indexes. */
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
   * What a user is granted in a namespace, grants for the whole cluster first; an empty namespace
   * means those alone. A binding that names the user twice is returned twice.
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
