import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { User } from '../user.ts'
import {
  type Binding,
  type RoleReference,
  readBinding,
  type SubjectKey,
  subjectKeysOf,
} from './binding.ts'
import { type PolicyRule, rulesOfRole } from './policy-rule.ts'

/** The rules that one binding gives a user; undefined: the role does not exist. */
export interface Grant {
  readonly binding: Binding
  readonly rules: readonly PolicyRule[] | undefined
}

/**
 * All roles and bindings, found by subject: a question costs what its user is granted, however
 * many bindings there are. An object replaces the one of its kind, namespace and name.
 */
export class Policy {
  readonly #roles = new Map<string, readonly PolicyRule[]>()
  readonly #bindings = new Map<string, Binding>()
  /** By namespace, empty for the whole cluster. */
  readonly #granted = new Map<string, Map<SubjectKey, Set<Binding>>>()

  /** Takes a stored Role (with a namespace) or ClusterRole (without). */
  setRole(role: JsonObject): void {
    this.#roles.set(roleKey(referenceTo(role)), rulesOfRole(role))
  }

  deleteRole(role: RoleReference): void {
    this.#roles.delete(roleKey(role))
  }

  /** Takes a stored RoleBinding (with a namespace) or ClusterRoleBinding (without). */
  setBinding(object: JsonObject): void {
    const binding = readBinding(object)
    this.deleteBinding(binding)
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
