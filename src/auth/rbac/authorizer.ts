import { type Action, isPathAction, type ResourceAction } from '../action.ts'
import { MASTERS, type User } from '../user.ts'
import type { Binding, RoleReference } from './binding.ts'
import type { Policy } from './policy.ts'
import { EVERYTHING, type PolicyRule } from './policy-rule.ts'

/** Decisions by binding: one binding permits many actions, always with the same decision. */
const PERMISSIONS = new WeakMap<Binding, Decision>()

/** Decides what a user may do. */
export interface Authorizer {
  authorize(user: User, action: Action): Decision
  /** Every rule that the user is granted in a namespace; an empty namespace: in the whole cluster. */
  rulesOf(user: User, namespace: string): readonly PolicyRule[]
  /** The rules of a role; undefined: the role does not exist. */
  rulesOfRole(role: RoleReference): readonly PolicyRule[] | undefined
}

/** Decides by the roles and bindings that a policy holds at the time of each call. */
export function rbacAuthorizer(policy: Policy): Authorizer {
  return {
    authorize: (user, action) => authorize(policy, user, action),
    rulesOf: (user, namespace) => rulesOfUser(policy, user, namespace),
    rulesOfRole: (role) => policy.rulesOf(role),
  }
}

/**
 * Permits the group of administrators everything, whatever roles and bindings say, so that a wrong role cannot
 * lock them out. `next` decides for everyone else.
 */
export function permitMasters(next: Authorizer): Authorizer {
  const isMaster = ({ groups }: User): boolean => groups.includes(MASTERS)
  return {
    ...next,
    authorize: (user, action) => (isMaster(user) ? MASTER : next.authorize(user, action)),
    rulesOf: (user, namespace) => (isMaster(user) ? EVERYTHING : next.rulesOf(user, namespace)),
  }
}

const MASTER: Decision = { isAllowed: true, reason: `a member of the group ${MASTERS}` }

/**
 * The authorizer of a server without users, which only its own machine can reach. The policy is used only to
 * look up roles.
 */
export function permitEverything(policy: Policy): Authorizer {
  return {
    authorize: () => ({ isAllowed: true, reason: '' }),
    rulesOf: () => EVERYTHING,
    rulesOfRole: (role) => policy.rulesOf(role),
  }
}

/** Every rule that a user is granted in a namespace; an empty namespace: in the whole cluster. */
export function rulesOfUser(policy: Policy, user: User, namespace: string): readonly PolicyRule[] {
  const rules = new Set<PolicyRule>()
  for (const grant of policy.grantsTo(user, namespace)) {
    for (const rule of grant.rules ?? []) rules.add(rule)
  }
  return [...rules]
}

interface Decision {
  readonly isAllowed: boolean
  /**
   * For operators and the audit log: the binding that permits the action, or the roles that bindings name and
   * that do not exist.
   */
  readonly reason: string
}

/** Whether roles and bindings permit an action. RBAC has no rules that deny, so one matching rule is enough. */
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

function permission(binding: Binding): Decision {
  const known = PERMISSIONS.get(binding)
  if (known !== undefined) return known
  const made = { isAllowed: true, reason: `RBAC: allowed by ${describe(binding)}` }
  PERMISSIONS.set(binding, made)
  return made
}

/** In the words of kube-apiserver; kubectl shows it after `no - `. */
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

/** The permissions of the user who writes an object. */
export interface WriterAccess {
  readonly user: User
  readonly permits: (action: ResourceAction) => boolean
  /** Every rule that the user is granted in a namespace; an empty one: in the whole cluster. */
  readonly rulesIn: (namespace: string) => readonly PolicyRule[]
  /** The rules of a role; undefined: the role does not exist. */
  readonly rulesOfRole: (role: RoleReference) => readonly PolicyRule[] | undefined
}

/** The permissions of a user, looked up in an authorizer. */
export function writerAccess(authorizer: Authorizer, user: User): WriterAccess {
  return {
    user,
    permits: (action) => authorizer.authorize(user, action).isAllowed,
    rulesIn: (namespace) => authorizer.rulesOf(user, namespace),
    rulesOfRole: (role) => authorizer.rulesOfRole(role),
  }
}
