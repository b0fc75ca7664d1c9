import type { Action } from '../action.ts'
import { MASTERS, type User } from '../user.ts'
import { authorize, type Decision } from './authorize.ts'
import type { RoleReference } from './binding.ts'
import type { Policy } from './policy.ts'
import { EVERYTHING, type PolicyRule } from './policy-rule.ts'
import { rulesOfUser } from './rules-of-user.ts'

/** Decides what a user may do. */
export interface Authorizer {
  authorize(user: User, action: Action): Decision
  /** Every rule that the user is granted in a namespace; an empty namespace: in the whole cluster. */
  rulesOf(user: User, namespace: string): readonly PolicyRule[]
  /** The rules of a role; undefined: there is none of this name. */
  rulesOfRole(role: RoleReference): readonly PolicyRule[] | undefined
}

/** By the roles and bindings of a policy, as they are at the moment of the question. */
export function rbacAuthorizer(policy: Policy): Authorizer {
  return {
    authorize: (user, action) => authorize(policy, user, action),
    rulesOf: (user, namespace) => rulesOfUser(policy, user, namespace),
    rulesOfRole: (role) => policy.rulesOf(role),
  }
}

/** The group of administrators may do everything, whatever roles and bindings say, so none is locked out. */
export function permitMasters(next: Authorizer): Authorizer {
  const isMaster = ({ groups }: User): boolean => groups.includes(MASTERS)
  return {
    ...next,
    authorize: (user, action) => (isMaster(user) ? MASTER : next.authorize(user, action)),
    rulesOf: (user, namespace) => (isMaster(user) ? EVERYTHING : next.rulesOf(user, namespace)),
  }
}

const MASTER: Decision = { isAllowed: true, reason: `a member of the group ${MASTERS}` }

/** Of a server without users, which only its own machine can reach; roles are those of the policy. */
export function permitEverything(policy: Policy): Authorizer {
  return {
    authorize: () => ({ isAllowed: true, reason: '' }),
    rulesOf: () => EVERYTHING,
    rulesOfRole: (role) => policy.rulesOf(role),
  }
}
