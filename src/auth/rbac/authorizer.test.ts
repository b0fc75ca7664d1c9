import { expect, test } from 'vitest'
import type { User } from '../user.ts'
import { permitMasters, rbacAuthorizer } from './authorizer.ts'
import { Policy } from './policy.ts'

const DELETE = {
  verb: 'delete',
  group: 'apps',
  resource: 'deployments',
  subresource: 'scale',
  namespace: 'shop',
  name: 'web',
}
const SCRAPE = { verb: 'get', path: '/metrics' }

/** What a user may do of the above without any role, and how many rules it is granted. */
function permittedTo(user: User) {
  const { authorize, rulesOf } = permitMasters(rbacAuthorizer(new Policy()))
  const decisions = [DELETE, SCRAPE].map((action) => authorize(user, action).isAllowed)
  return [...decisions, rulesOf(user, '').length, rulesOf(user, 'shop').length]
}

test('a member of system:masters is granted everything without any role', () => {
  expect(permittedTo({ name: 'ann', groups: ['dev', 'system:masters'] })).toEqual([
    true,
    true,
    2,
    2,
  ])
})

test.each<User>([
  { name: 'ann', groups: [] },
  { name: 'system:masters', groups: ['system:authenticated'] },
  { name: 'ann', groups: ['system:master', 'System:masters', 'system:masters '] },
])('%j is granted nothing without a role', (user) => {
  expect(permittedTo(user)).toEqual([false, false, 0, 0])
})
