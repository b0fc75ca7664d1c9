import { expect, test } from 'vitest'
import type { Action } from '../action.ts'
import { rbacAuthorizer } from '../rbac/authorizer.ts'
import { Policy } from '../rbac/policy.ts'
import type { User } from '../user.ts'
import { nodeAuthorizer } from './node-authorizer.ts'

const AGENT: User = { name: 'system:node:n1', groups: ['system:nodes'] }
const about = { group: '', resource: 'nodes', subresource: '', namespace: '' }
const OWN: Action = { ...about, verb: 'update', name: 'n1' }

/** Whether a user may do something by being an agent, without any role. */
function permits(user: User, action: Action): boolean {
  const none = { pod: () => undefined, podsIn: () => [], nodeOfAttachment: () => undefined }
  return nodeAuthorizer(none, rbacAuthorizer(new Policy())).authorize(user, action).isAllowed
}

test('an agent may write its own Node', () => {
  expect(permits(AGENT, OWN)).toBe(true)
})

test.each<[string, User, Action]>([
  ['an agent another Node', AGENT, { ...OWN, name: 'n2' }],
  ['an agent a role', AGENT, { ...OWN, group: 'rbac.authorization.k8s.io', resource: 'roles' }],
  ['an agent a path', AGENT, { verb: 'get', path: '/metrics' }],
  ['who is called as an agent', { ...AGENT, groups: ['system:authenticated'] }, OWN],
  ['who is only in the group of agents', { ...AGENT, name: 'ann' }, OWN],
])('not permitted: %s', (_what, user, action) => {
  expect(permits(user, action)).toBe(false)
})
