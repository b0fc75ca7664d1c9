import { type Action, isPathAction } from '../action.ts'
import type { User } from '../user.ts'
import type { Binding } from './binding.ts'
import type { Policy } from './policy.ts'

export interface Decision {
  readonly isAllowed: boolean
  /** For operators and the audit log: the binding that permits it, or roles that do not exist. */
  readonly reason: string
}

/** Whether roles and bindings permit an action: they only ever permit, so one rule is enough. */
export function authorize(policy: Policy, user: User, action: Action): Decision {
  const namespace = isPathAction(action) ? '' : action.namespace
  for (const index of policy.indexesOf(user, namespace)) {
    const binding = index.permits(action)
    if (binding !== undefined) return permission(binding)
  }
  const indexes = [...policy.indexesOf(user, namespace)]
  const missing = indexes.flatMap(({ incomplete }) => incomplete.map(({ role }) => notFound(role)))
  return { isAllowed: false, reason: reasonOf([...new Set(missing)]) }
}

/** The decision by a binding, which permits many actions. */
const PERMISSIONS = new WeakMap<Binding, Decision>()

function permission(binding: Binding): Decision {
  const known = PERMISSIONS.get(binding)
  if (known !== undefined) return known
  const made = { isAllowed: true, reason: `RBAC: allowed by ${describe(binding)}` }
  PERMISSIONS.set(binding, made)
  return made
}

/** As kube-apiserver says it: kubectl shows it after `no - `. */
function reasonOf(missing: readonly string[]): string {
  if (missing.length === 0) return ''
  return missing.length === 1 ? `RBAC: ${missing[0]}` : `RBAC: [${missing.join(', ')}]`
}

function notFound({ kind, name }: Binding['role']): string {
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${quoted(name)} not found`
}

function describe({ kind, namespace, name, role }: Binding): string {
  const path = namespace === '' ? name : `${namespace}/${name}`
  return `${kind} ${quoted(path)} of ${role.kind} ${quoted(role.name)}`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
