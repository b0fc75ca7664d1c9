import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import {
  arbitraryAction,
  arbitraryBinding,
  arbitraryRole,
  arbitraryRule,
  arbitraryUser,
} from '../testing/arbitrary-rbac.ts'
import { naivelyAllowed } from '../testing/naive-rbac.ts'
import { authorize } from './authorizer.ts'
import { Policy } from './policy.ts'

const nameOf = ({ metadata }: JsonObject): string => JSON.stringify(metadata)
const unique = (arbitrary: fc.Arbitrary<JsonObject>, maxLength: number) =>
  fc.uniqueArray(arbitrary, { selector: nameOf, minLength: maxLength / 2, maxLength })

const cluster = fc.record({
  roles: unique(arbitraryRole, 8),
  bindings: unique(arbitraryBinding, 8),
})
const questions = fc.array(fc.tuple(arbitraryUser, arbitraryAction), {
  minLength: 20,
  maxLength: 20,
})

function policyOf({ roles, bindings }: { roles: JsonObject[]; bindings: JsonObject[] }): Policy {
  const policy = new Policy()
  for (const role of roles) policy.setRole(role)
  for (const binding of bindings) policy.setBinding(binding)
  return policy
}

test('every decision is that of a naive evaluator, in 6,000 questions', () => {
  const seen = { allowed: 0, refused: 0 }
  fc.assert(
    fc.property(cluster, questions, (objects, pairs) => {
      const policy = policyOf(objects)
      for (const [user, action] of pairs) {
        const expected = naivelyAllowed(objects, user, action)
        seen[expected ? 'allowed' : 'refused']++
        expect(authorize(policy, user, action).isAllowed).toBe(expected)
      }
    }),
    { numRuns: 300 },
  )
  expect(seen.allowed).toBeGreaterThan(300)
  expect(seen.refused).toBeGreaterThan(300)
})

test('a rule or a binding more takes no permission away', () => {
  fc.assert(
    fc.property(
      cluster,
      questions,
      arbitraryRule,
      arbitraryBinding,
      (objects, pairs, rule, one) => {
        const before = policyOf(objects)
        const [role, ...others] = objects.roles
        const grown = role && { ...role, rules: [...(role['rules'] as JsonObject[]), rule] }
        const binding = { ...one, metadata: { ...(one['metadata'] as JsonObject), name: 'new' } }
        const after = policyOf({
          roles: grown ? [grown, ...others] : [],
          bindings: [...objects.bindings, binding],
        })
        for (const [user, action] of pairs) {
          if (!authorize(before, user, action).isAllowed) continue
          expect(authorize(after, user, action).isAllowed).toBe(true)
        }
      },
    ),
  )
})

test('a policy is what its last objects make it, whatever came before them', () => {
  fc.assert(
    fc.property(cluster, cluster, questions, (earlier, objects, pairs) => {
      const policy = policyOf(earlier)
      for (const binding of earlier.bindings) policy.deleteBinding(reference(binding))
      for (const role of earlier.roles) {
        const kind = reference(role).namespace === '' ? 'ClusterRole' : 'Role'
        policy.deleteRole({ kind, ...reference(role) })
      }
      for (const [user, action] of pairs) {
        expect(authorize(policy, user, action)).toEqual({ isAllowed: false, reason: '' })
      }
      for (const role of objects.roles) policy.setRole(role)
      for (const binding of objects.bindings) policy.setBinding(binding)
      for (const [user, action] of pairs) {
        expect(authorize(policy, user, action).isAllowed).toBe(
          authorize(policyOf(objects), user, action).isAllowed,
        )
      }
    }),
  )
})

function reference({ metadata }: JsonObject): { namespace: string; name: string } {
  const { namespace = '', name } = metadata as { namespace?: string; name: string }
  return { namespace, name }
}
