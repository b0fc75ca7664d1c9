import { expect, test } from 'vitest'
import { secretPayload } from '../../auth/tokens/account-claims.ts'
import { sign } from '../../auth/tokens/token-issuer.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, stringAt } from '../../lib/json.ts'
import { startIdentityApi } from '../testing/identity-api.ts'
import { POD, PODS } from '../testing/test-api.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const READER = {
  metadata: { name: 'reader' },
  rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] }],
}

function binding(name: string, subject: JsonObject, role = 'reader'): JsonObject {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role }
  return { metadata: { name }, roleRef, subjects: [subject] }
}

test('without credentials health and version are shown, and nothing else', async () => {
  const api = await startIdentityApi()
  for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
    expect([path, (await api.call('GET', path)).status]).toEqual([path, 200])
  }
  expect((await api.call('GET', '/readyz/no-such-check')).status).toBe(404)
  for (const path of [
    '/',
    '/api',
    '/apis',
    '/metrics',
    '/openapi/v3',
    PODS,
    '/nope',
    '/healthzz',
  ]) {
    const { status, body } = await api.call('GET', path)
    expect([path, status, body['reason']]).toEqual([path, 401, 'Unauthorized'])
  }
  expect((await api.call('POST', PODS, { body: {} })).status).toBe(401)
})

test.each(['/api', '/apis', '/api/v1/namespaces/default/pods', '/openapi'])(
  'an anonymous path %s opens documents, never resources',
  async (open) => {
    const api = await startIdentityApi([], { identity: { anonymousPaths: [open] } })
    for (const path of [PODS, '/api/v1/secrets', `${RBAC}/clusterroles`, `${PODS}/web/status`]) {
      expect([path, (await api.call('GET', path)).status]).toEqual([path, 401])
    }
    const body = { metadata: { name: 'web' }, spec: POD }
    expect((await api.call('POST', PODS, { body })).status).toBe(401)
    const document = await api.call('GET', open)
    expect(document.status).toBe(open === PODS ? 401 : open === '/openapi' ? 404 : 200)
  },
)

test.each([
  ['an unknown token', 'Bearer unknown-token', 401],
  ['another scheme', 'Basic cm9vdDpyb290', 400],
  ['two tokens', 'Bearer a b', 400],
  ['no token', 'Bearer ', 400],
])('%s is refused, on open paths too', async (_what, authorization, expected) => {
  const api = await startIdentityApi()
  for (const path of [PODS, '/healthz']) {
    expect((await api.call('GET', path, { headers: { authorization } })).status).toBe(expected)
  }
})

test('a user may do what a binding permits, and the refusal says what is missing', async () => {
  const api = await startIdentityApi([{ name: 'ann', groups: ['dev'] }])
  const refused = await api.as('ann', 'GET', PODS)
  expect([refused.status, refused.body['message']]).toEqual([
    403,
    'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "default"',
  ])
  await api.make(`${RBAC}/namespaces/default/roles`, READER)
  await api.make(
    `${RBAC}/namespaces/default/rolebindings`,
    binding('readers', { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'dev' }),
  )
  await expect.poll(async () => (await api.as('ann', 'GET', PODS)).status).toBe(200)
  expect((await api.as('ann', 'GET', '/api/v1/pods')).status).toBe(403)
  const body = { metadata: { name: 'web' }, spec: POD }
  expect((await api.as('ann', 'POST', PODS, { body })).status).toBe(403)
  expect((await api.as('ann', 'GET', '/api/v1/namespaces/default/secrets')).status).toBe(403)
  await api.as('root', 'DELETE', `${RBAC}/namespaces/default/rolebindings/readers`)
  await expect.poll(async () => (await api.as('ann', 'GET', PODS)).status).toBe(403)
})

test('a path that does not exist is 403 for a user and 404 for an administrator', async () => {
  const api = await startIdentityApi([{ name: 'ann' }])
  expect((await api.as('ann', 'GET', '/nope')).body['message']).toBe(
    'forbidden: User "ann" cannot get path "/nope"',
  )
  expect((await api.as('root', 'GET', '/nope')).status).toBe(404)
  expect((await api.as('ann', 'GET', '/apis')).status).toBe(200)
  expect((await api.as('ann', 'GET', '/metrics')).status).toBe(403)
})

test('a token of an account is accepted until the account is deleted', async () => {
  const api = await startIdentityApi()
  await api.make(ACCOUNTS, { metadata: { name: 'builder' } })
  await api.make(`${RBAC}/namespaces/default/roles`, READER)
  await api.make(
    `${RBAC}/namespaces/default/rolebindings`,
    binding('readers', { kind: 'ServiceAccount', name: 'builder', namespace: 'default' }),
  )
  const token = await api.tokenFor('default', 'builder')
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(200)
  await api.as('root', 'DELETE', `${ACCOUNTS}/builder`)
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(401)
})

test('a watch that began outlasts its token and its permission, as in Kubernetes; a new one does not', async () => {
  const api = await startIdentityApi()
  await api.make(ACCOUNTS, { metadata: { name: 'builder' } })
  await api.make(ACCOUNTS, { metadata: { name: 'default' } })
  await api.make(`${RBAC}/namespaces/default/roles`, READER)
  await api.make(
    `${RBAC}/namespaces/default/rolebindings`,
    binding('readers', { kind: 'ServiceAccount', name: 'builder', namespace: 'default' }),
  )
  const token = await api.tokenFor('default', 'builder')
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(200)
  const watch = await api.watch(`${PODS}?watch=1`, { authorization: `Bearer ${token}` })
  await api.as('root', 'DELETE', `${RBAC}/namespaces/default/rolebindings/readers`)
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(403)
  await api.as('root', 'DELETE', `${ACCOUNTS}/builder`)
  await expect.poll(async () => (await api.as(token, 'GET', `${PODS}?watch=1`)).status).toBe(401)
  await api.make(PODS, { metadata: { name: 'web' }, spec: POD })
  expect((await watch.next())?.type).toBe('ADDED')
  watch.close()
})

test('a token of a Pod ends with the Pod, also when another one has its name', async () => {
  const api = await startIdentityApi()
  const spec = { ...POD, serviceAccountName: 'builder' }
  await api.make(ACCOUNTS, { metadata: { name: 'builder' } })
  const pod = await api.make(PODS, { metadata: { name: 'web' }, spec })
  const uid = stringAt(pod, 'metadata', 'uid')
  const token = await api.tokenFor('default', 'builder', {
    bound: { kind: 'pod', name: 'web', uid },
  })
  expect((await api.as(token, 'GET', PODS)).status).toBe(403)
  await api.as('root', 'DELETE', `${PODS}/web?gracePeriodSeconds=0`)
  await api.make(PODS, { metadata: { name: 'web' }, spec })
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(401)
})

test('a token in a Secret ends when the Secret is deleted, whatever keeps the Secret', async () => {
  const api = await startIdentityApi()
  const account = await api.make(ACCOUNTS, { metadata: { name: 'builder' } })
  const identity = { name: 'builder', uid: stringAt(account, 'metadata', 'uid') }
  const claims = { namespace: 'default', account: identity, secretName: 'key' }
  const token = await sign(secretPayload(claims), api.key)
  const secrets = '/api/v1/namespaces/default/secrets'
  await api.make(secrets, {
    metadata: {
      name: 'key',
      annotations: { 'kubernetes.io/service-account.name': 'builder' },
      finalizers: ['example.com/keep'],
    },
    type: 'kubernetes.io/service-account-token',
    stringData: { token },
  })
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(403)
  await api.as('root', 'DELETE', `${secrets}/key`)
  expect((await api.as('root', 'GET', `${secrets}/key`)).status).toBe(200)
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(401)
})

test('who impersonates acts as the other user, and needs permission for each part', async () => {
  const api = await startIdentityApi([{ name: 'ann' }])
  const as = (user: string, headers: Readonly<Record<string, string>>) =>
    api.as(user, 'GET', PODS, { headers })
  expect((await as('root', { 'impersonate-user': 'bob' })).body['message']).toContain('User "bob"')
  expect((await as('ann', { 'impersonate-user': 'root' })).body['message']).toBe(
    'users "root" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope',
  )
  const groups = { 'impersonate-user': 'bob', 'impersonate-group': 'g0, system:masters' }
  expect((await as('root', groups)).status).toBe(403)
  expect((await as('root', { ...groups, 'impersonate-group': 'system:masters' })).status).toBe(200)
  expect((await as('root', { 'impersonate-group': 'system:masters' })).status).toBe(400)
})

test('the built-in roles are there, and what is taken from them comes back at the next start', async () => {
  const api = await startIdentityApi()
  const path = `${RBAC}/clusterroles/system:node-proxier`
  const bindings = `${RBAC}/clusterrolebindings`
  const role = (await api.as('root', 'GET', path)).body
  const reads = (arrayAt(role, 'rules') as JsonObject[]).flatMap((rule) => rule['resources'])
  expect(reads).toEqual(expect.arrayContaining(['endpointslices', 'nodes', 'services']))
  const added = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
  await api.as('root', 'PUT', path, { body: { ...role, rules: [added] } })
  await api.as('root', 'DELETE', `${bindings}/system:discovery`)
  const next = await startIdentityApi([], { wrap: () => api.store })
  expect((await next.as('root', 'GET', path)).body['rules']).toEqual([
    added,
    ...(role['rules'] as []),
  ])
  expect((await next.as('root', 'GET', `${bindings}/system:discovery`)).status).toBe(200)
})
