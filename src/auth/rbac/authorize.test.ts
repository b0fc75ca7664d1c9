import { expect, test } from 'vitest'
import type { Action } from '../action.ts'
import { accountGroups, accountUserName } from '../service-account-name.ts'
import type { User } from '../user.ts'
import { authorize } from './authorizer.ts'
import { Policy } from './policy.ts'

const ANN: User = { name: 'ann', groups: ['dev'] }
const ACCOUNT: User = {
  name: accountUserName({ namespace: 'shop', name: 'builder' }),
  groups: accountGroups('shop'),
}

const GET_POD = {
  verb: 'get',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: 'shop',
  name: 'web',
}

/** Ann has one rule everywhere. */
function allows(rule: object, action: Action): boolean {
  const policy = new Policy()
  policy.setRole({ metadata: { name: 'r' }, rules: [rule as never] })
  policy.setBinding({
    metadata: { name: 'b' },
    roleRef: { kind: 'ClusterRole', name: 'r' },
    subjects: [{ kind: 'User', name: 'ann' }],
  })
  return authorize(policy, ANN, action).isAllowed
}

const PODS = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }

test.each<[string, boolean, object, Partial<typeof GET_POD>]>([
  ['the rule itself', true, PODS, {}],
  ['another verb', false, PODS, { verb: 'list' }],
  ['a verb in other letters', false, PODS, { verb: 'GET' }],
  ['every verb', true, { ...PODS, verbs: ['*'] }, { verb: 'deletecollection' }],
  ['another group', false, PODS, { group: 'apps' }],
  ['every group', true, { ...PODS, apiGroups: ['*'] }, { group: 'apps' }],
  [
    'our name of a group',
    true,
    { ...PODS, apiGroups: ['networking.orch.io'] },
    { group: 'networking.k8s.io' },
  ],
  ['a subresource of the resource', false, PODS, { subresource: 'log' }],
  ['the subresource', true, { ...PODS, resources: ['pods/log'] }, { subresource: 'log' }],
  ['the resource of a subresource', false, { ...PODS, resources: ['pods/log'] }, {}],
  ['a subresource of all', true, { ...PODS, resources: ['*/log'] }, { subresource: 'log' }],
  ['another subresource of all', false, { ...PODS, resources: ['*/log'] }, { subresource: 'exec' }],
  ['no subresource of all', false, { ...PODS, resources: ['*/log'] }, {}],
  ['a subresource without a name, of all', false, { ...PODS, resources: ['*/'] }, {}],
  ['every resource', true, { ...PODS, resources: ['*'] }, { subresource: 'log' }],
  [
    'every subresource, which is no pattern',
    false,
    { ...PODS, resources: ['pods/*'] },
    { subresource: 'log' },
  ],
  ['the object', true, { ...PODS, resourceNames: ['web'] }, {}],
  ['another object', false, { ...PODS, resourceNames: ['db'] }, {}],
  ['no one object', false, { ...PODS, resourceNames: ['web'] }, { name: '' }],
  ['no one object, which a rule names', false, { ...PODS, resourceNames: [''] }, { name: '' }],
  ['objects by pattern, which is none', false, { ...PODS, resourceNames: ['*'] }, {}],
])('%s: %j for a rule %j', (_what, expected, rule, action) => {
  expect(allows(rule, { ...GET_POD, ...action })).toBe(expected)
})

test.each<[boolean, string, string]>([
  [true, '/metrics', '/metrics'],
  [false, '/metrics', '/metrics/'],
  [false, '/metrics', '/Metrics'],
  [true, '*', '/anything'],
  [true, '/logs/*', '/logs/a/b'],
  [false, '/logs/*', '/logs'],
  [true, '/logs*', '/logs'],
  [false, '/l*s', '/logs'],
])('%j: paths %s cover %s', (expected, url, path) => {
  expect(allows({ verbs: ['get'], nonResourceURLs: [url] }, { verb: 'get', path })).toBe(expected)
})

test.each([
  [true, ['get'], 'get'],
  [true, ['*'], 'post'],
  [false, ['get'], 'post'],
  [false, ['get'], 'GET'],
  [false, [], 'get'],
])('%j: verbs %j of a path permit %s', (expected, verbs, verb) => {
  expect(allows({ verbs, nonResourceURLs: ['/x'] }, { verb, path: '/x' })).toBe(expected)
})

test('paths and resources are not mixed up', () => {
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
  expect(allows(all, { verb: 'get', path: '/metrics' })).toBe(false)
  expect(allows({ verbs: ['*'], nonResourceURLs: ['*'] }, GET_POD)).toBe(false)
})

test('a RoleBinding gives in its namespace what a ClusterRole says, to an account of any namespace', () => {
  const policy = new Policy()
  policy.setRole({
    metadata: { name: 'r' },
    rules: [PODS, { verbs: ['get'], nonResourceURLs: ['*'] }],
  })
  policy.setBinding({
    metadata: { name: 'b', namespace: 'bank' },
    roleRef: { kind: 'ClusterRole', name: 'r' },
    subjects: [{ kind: 'ServiceAccount', name: 'builder', namespace: 'shop' }],
  })
  const inNamespace = (namespace: string) =>
    authorize(policy, ACCOUNT, { ...GET_POD, namespace }).isAllowed
  expect(['bank', 'shop', ''].map(inNamespace)).toEqual([true, false, false])
  expect(authorize(policy, ACCOUNT, { verb: 'get', path: '/x' }).isAllowed).toBe(false)
})

test.each([
  { kind: 'Group', name: 'system:serviceaccounts' },
  { kind: 'Group', name: 'system:serviceaccounts:shop' },
  { kind: 'Group', name: 'system:authenticated' },
  { kind: 'User', name: 'system:serviceaccount:shop:builder' },
])('an account is the subject %j', (subject) => {
  const policy = new Policy()
  policy.setRole({ metadata: { name: 'r' }, rules: [PODS] })
  const binding = { metadata: { name: 'b' }, roleRef: { kind: 'ClusterRole', name: 'r' } }
  policy.setBinding({ ...binding, subjects: [subject] })
  expect(authorize(policy, ACCOUNT, GET_POD).isAllowed).toBe(true)
  policy.setBinding({ ...binding, subjects: [{ ...subject, name: 'x' }] })
  expect(authorize(policy, ACCOUNT, GET_POD).isAllowed).toBe(false)
})

test('the reason names what permits, and what a binding misses', () => {
  const policy = new Policy()
  const metadata = { name: 'reads', namespace: 'shop' }
  const subjects = [{ kind: 'Group', name: 'dev' }]
  policy.setBinding({ metadata, roleRef: { kind: 'Role', name: 'reader' }, subjects })
  expect(authorize(policy, ANN, GET_POD)).toEqual({
    isAllowed: false,
    reason: 'RBAC: role.rbac.authorization.k8s.io "reader" not found',
  })
  policy.setBinding({ metadata, roleRef: { kind: 'ClusterRole', name: 'r' }, subjects })
  policy.setBinding({
    metadata: { name: 'all' },
    roleRef: { kind: 'ClusterRole', name: 'gone' },
    subjects,
  })
  expect(authorize(policy, ANN, GET_POD)).toEqual({
    isAllowed: false,
    reason:
      'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, clusterrole.rbac.authorization.k8s.io "r" not found]',
  })
  policy.deleteBinding({ namespace: '', name: 'all' })
  policy.setBinding({ metadata, roleRef: { kind: 'Role', name: 'reader' }, subjects })
  policy.setRole({ metadata: { name: 'reader', namespace: 'shop' }, rules: [PODS] })
  expect(authorize(policy, ANN, GET_POD)).toEqual({
    isAllowed: true,
    reason: 'RBAC: allowed by RoleBinding "shop/reads" of Role "reader"',
  })
})

test('a role without readable rules permits nothing', () => {
  for (const rules of [null, {}, 'x', ['x', null, { verbs: 'get' }]]) {
    const policy = new Policy()
    policy.setRole({ metadata: { name: 'r' }, rules: rules })
    expect(policy.rulesOf({ kind: 'ClusterRole', namespace: '', name: 'r' })).toHaveLength(
      Array.isArray(rules) ? 3 : 0,
    )
    expect(allows(rules as never, GET_POD)).toBe(false)
  }
})

test.each(['verbs', 'apiGroups', 'resources'])(
  'a list in place of a text in %s permits nothing',
  (key) => {
    expect(allows({ ...PODS, [key]: [['*'], [PODS[key as keyof typeof PODS][0]]] }, GET_POD)).toBe(
      false,
    )
  },
)
