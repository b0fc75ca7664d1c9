import type { Action } from '../../auth/action.ts'
import { authorize, type Decision } from '../../auth/rbac/authorize.ts'
import type { Policy } from '../../auth/rbac/policy.ts'
import type { User } from '../../auth/user.ts'

/** Decides what a user may do. */
export interface Authorizer {
  authorize(user: User, action: Action): Decision
}

/** By the roles and bindings of a policy, as they are at the moment of the question. */
export function rbacAuthorizer(policy: Policy): Authorizer {
  return { authorize: (user, action) => authorize(policy, user, action) }
}

/** Of a server without users, which only its own machine can reach. */
export const permitEverything: Authorizer = {
  authorize: () => ({ isAllowed: true, reason: '' }),
}
