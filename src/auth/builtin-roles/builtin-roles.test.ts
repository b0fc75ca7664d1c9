import { expect, test } from 'vitest'
import { type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { aggregatedRules } from '../rbac/aggregate.ts'
import { authorize } from '../rbac/authorizer.ts'
import { Policy } from '../rbac/policy.ts'
import { accountGroups } from '../service-account-name.ts'
import type { User } from '../user.ts'
import { builtinBindings, builtinRoles } from './builtin-roles.ts'

function selects(selector: Json, labels: Json | undefined): boolean {
  return Object.entries(objectAt(selector, 'matchLabels')).every(
    ([key, value]) => objectAt(labels)[key] === value,
  )
}

/** All roles, aggregated until nothing changes any more. */
function aggregated(): readonly JsonObject[] {
  let roles = builtinRoles
  for (let round = 0; round < 5; round++) {
    roles = roles.map((role) => {
      const rules = aggregatedRules(role, roles, selects)
      return rules === undefined ? role : { ...role, rules: [...rules] }
    })
  }
  return roles
}

const policy = new Policy()
for (const role of aggregated()) policy.setRole(role)
for (const binding of builtinBindings) policy.setBinding(binding)
for (const role of ['admin', 'edit', 'view']) {
  policy.setBinding({
    metadata: { name: role, namespace: 'shop' },
    roleRef: { kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', name: role }],
  })
}

const user = (name: string, groups = ['system:authenticated']): User => ({ name, groups })
const controller = (name: string): User => {
  return user(`system:serviceaccount:kube-system:${name}`, [...accountGroups('kube-system')])
}
const ANONYMOUS_USER = user('system:anonymous', ['system:unauthenticated'])

function can(who: User, verb: string, what: string, namespace = 'shop'): boolean {
  if (what.startsWith('/')) return authorize(policy, who, { verb, path: what }).isAllowed
  const [path = '', group = ''] = what.split(' ')
  const [resource = '', subresource = ''] = path.split('/')
  const action = { verb, group, resource, subresource, namespace, name: 'x' }
  return authorize(policy, who, action).isAllowed
}

test.each<[string, string, string, boolean]>([
  ['view', 'get', 'pods', true],
  ['view', 'list', 'endpointslices discovery.k8s.io', true],
  ['view', 'get', 'secrets', false],
  ['view', 'list', 'secrets', false],
  ['view', 'watch', 'secrets', false],
  ['view', 'create', 'pods', false],
  ['view', 'impersonate', 'serviceaccounts', false],
  ['view', 'get', 'roles rbac.authorization.k8s.io', false],
  ['view', 'create', 'serviceaccounts/token', false],
  ['edit', 'get', 'pods', true],
  ['edit', 'get', 'secrets', true],
  ['edit', 'create', 'services', true],
  ['edit', 'create', 'serviceaccounts/token', true],
  ['edit', 'update', 'endpoints', false],
  ['edit', 'create', 'endpoints', false],
  ['edit', 'patch', 'endpointslices discovery.k8s.io', false],
  ['edit', 'create', 'rolebindings rbac.authorization.k8s.io', false],
  ['edit', 'impersonate', 'serviceaccounts', true],
  ['edit', 'impersonate', 'users', false],
  ['edit', 'impersonate', 'groups', false],
  ['edit', 'impersonate', 'userextras/scopes authentication.k8s.io', false],
  ['edit', 'create', 'tokenreviews authentication.k8s.io', false],
  ['admin', 'impersonate', 'users', false],
  ['admin', 'bind', 'roles rbac.authorization.k8s.io', false],
  ['admin', 'get', 'clusterroles rbac.authorization.k8s.io', false],
  ['admin', 'update', 'clusterroles rbac.authorization.k8s.io', false],
  ['admin', 'create', 'clusterrolebindings rbac.authorization.k8s.io', false],
  ['admin', 'create', 'localsubjectaccessreviews authorization.k8s.io', true],
  ['admin', 'create', 'subjectaccessreviews authorization.k8s.io', false],
  ['admin', 'delete', 'namespaces', false],
  ['admin', 'update', 'nodes', false],
  ['admin', 'delete', 'deployments apps', true],
  ['edit', 'patch', 'daemonsets apps', true],
  ['edit', 'update', 'statefulsets/scale apps', true],
  ['edit', 'patch', 'replicasets/scale apps', true],
  ['edit', 'create', 'replicasets apps', true],
  ['edit', 'update', 'replicasets/status apps', false],
  ['view', 'get', 'replicasets/status apps', true],
  ['view', 'update', 'replicasets/scale apps', false],
  ['edit', 'create', 'jobs batch', true],
  ['edit', 'update', 'jobs/status batch', false],
  ['view', 'get', 'jobs/status batch', true],
  ['view', 'delete', 'jobs batch', false],
  ['edit', 'create', 'poddisruptionbudgets policy', true],
  ['view', 'get', 'poddisruptionbudgets policy', true],
  ['view', 'delete', 'daemonsets apps', false],
  ['view', 'list', 'controllerrevisions apps', true],
  ['edit', 'create', 'controllerrevisions apps', false],
  ['admin', 'create', 'rolebindings rbac.authorization.k8s.io', true],
  ['admin', 'update', 'endpoints', false],
  ['admin', 'escalate', 'roles rbac.authorization.k8s.io', false],
  ['admin', 'bind', 'clusterroles rbac.authorization.k8s.io', false],
  ['admin', 'update', 'pods/status', false],
])('%s may %s %s: %j', (name, verb, what, expected) => {
  expect(can(user(name), verb, what)).toBe(expected)
  expect(can(user(name), verb, what, 'bank')).toBe(false)
})

test.each<[string, boolean, boolean]>([
  ['/healthz', true, true],
  ['/version', true, true],
  ['/metrics', false, false],
  ['/apis', false, true],
  ['/openapi/v3', false, true],
  ['/openid/v1/jwks', false, false],
])('%s: without credentials %j, with any %j', (path, isOpen, anyUser) => {
  expect(can(ANONYMOUS_USER, 'get', path)).toBe(isOpen)
  expect(can(user('ann'), 'get', path)).toBe(anyUser)
  expect(can(user('ann'), 'post', path)).toBe(false)
})

test('every account reads the keys of tokens, and every user may review its own permissions', () => {
  expect(can(controller('default'), 'get', '/openid/v1/jwks')).toBe(true)
  const review = 'selfsubjectaccessreviews authorization.k8s.io'
  expect([
    can(user('ann'), 'create', review, ''),
    can(ANONYMOUS_USER, 'create', review, ''),
  ]).toEqual([true, false])
})

test.each([
  'subjectaccessreviews authorization.k8s.io',
  'localsubjectaccessreviews authorization.k8s.io',
  'tokenreviews authentication.k8s.io',
])('no user reviews others without a role: %s', (review) => {
  for (const who of [user('ann'), controller('default'), ANONYMOUS_USER]) {
    expect(can(who, 'create', review)).toBe(false)
  }
})

test('administrators may do everything', () => {
  const master = user('root', ['system:masters'])
  expect(can(master, 'escalate', 'clusterroles rbac.authorization.k8s.io', '')).toBe(true)
  expect(can(master, 'delete', '/anything')).toBe(true)
})

test('the daemon reads what it forwards and what policies are made of, and nothing else', () => {
  const proxy = user('system:kube-proxy')
  const others = ['endpointslices discovery.k8s.io', 'networkpolicies networking.k8s.io']
  for (const what of ['services', 'endpoints', 'nodes', 'pods', 'namespaces', ...others]) {
    expect([can(proxy, 'watch', what, ''), can(proxy, 'update', what, '')]).toEqual([true, false])
  }
  expect(can(proxy, 'create', 'events')).toBe(true)
  for (const what of ['secrets', 'configmaps', 'pods/log', 'serviceaccounts']) {
    for (const verb of ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']) {
      expect([verb, what, can(proxy, verb, what, '')]).toEqual([verb, what, false])
    }
  }
})

test('Endpoints are written by their controllers alone, and Secrets are read by three', () => {
  const accounts = builtinBindings.flatMap((binding) => {
    const name = stringAt(binding, 'metadata', 'name')
    return name.startsWith('system:controller:') ? [name.slice('system:controller:'.length)] : []
  })
  const those = (verb: string, what: string) =>
    accounts.filter((name) => can(controller(name), verb, what))
  expect(those('create', 'endpoints')).toEqual(['endpoint-controller'])
  expect(those('create', 'endpointslices discovery.k8s.io')).toEqual([
    'endpointslice-controller',
    'endpointslicemirroring-controller',
  ])
  expect(those('get', 'secrets')).toEqual([
    'generic-garbage-collector',
    'namespace-controller',
    'tokens-controller',
  ])
  expect(those('list', 'secrets')).toEqual([
    'controllers-reader',
    'generic-garbage-collector',
    'namespace-controller',
  ])
  const makers = [
    'daemon-set-controller',
    'job-controller',
    'replicaset-controller',
    'statefulset-controller',
  ]
  expect(those('patch', 'pods')).toEqual([
    'daemon-set-controller',
    'generic-garbage-collector',
    'job-controller',
    'replicaset-controller',
    'statefulset-controller',
  ])
  expect(those('create', 'pods/binding')).toEqual(['daemon-set-controller', 'scheduler'])
  expect(those('delete', 'pods')).toEqual([
    'daemon-set-controller',
    'generic-garbage-collector',
    'job-controller',
    'namespace-controller',
    'node-controller',
    'pod-garbage-collector',
    'replicaset-controller',
    'statefulset-controller',
  ])
  expect(those('create', 'pods')).toEqual(makers)
  for (const what of ['secrets', 'serviceaccounts/token', 'nodes']) {
    expect([what, ...those('create', what)]).toEqual([what])
  }
  expect(accounts.length).toBe(22)
})

test('every bound role exists', () => {
  const names = new Set(builtinRoles.map((role) => stringAt(role, 'metadata', 'name')))
  for (const binding of builtinBindings) {
    expect(names).toContain(stringAt(binding, 'roleRef', 'name'))
  }
  expect(names.size).toBe(builtinRoles.length)
})
