import type { User } from '../user.ts'
import type { Policy } from './policy.ts'
import type { PolicyRule } from './policy-rule.ts'

/** Every rule that a user is granted in a namespace; an empty namespace: in the whole cluster. */
export function rulesOfUser(policy: Policy, user: User, namespace: string): readonly PolicyRule[] {
  const rules = new Set<PolicyRule>()
  for (const grant of policy.grantsTo(user, namespace)) {
    for (const rule of grant.rules ?? []) rules.add(rule)
  }
  return [...rules]
}
