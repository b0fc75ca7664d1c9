import type { ResourceAction } from '../action.ts'
import type { User } from '../user.ts'
import type { Authorizer } from './authorizer.ts'
import type { RoleReference } from './binding.ts'
import type { PolicyRule } from './policy-rule.ts'

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
