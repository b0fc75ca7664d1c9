import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { PROTOBUF } from '../encoding/decode-protobuf.ts'
import { recordedBodies } from '../encoding/testing/recorded-bodies.ts'
import { encodeBody } from '../encoding/testing/test-encoder.ts'
import { type IdentityApi, startIdentityApi } from '../testing/identity-api.ts'
import { startApi } from '../testing/test-api.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const AUTHORIZATION = '/apis/authorization.k8s.io/v1'
const AUTHENTICATION = '/apis/authentication.k8s.io/v1'
const SELF_ACCESS = `${AUTHORIZATION}/selfsubjectaccessreviews`
const ACCESS = `${AUTHORIZATION}/subjectaccessreviews`
const LOCAL = `${AUTHORIZATION}/namespaces/default/localsubjectaccessreviews`
const RULES = `${AUTHORIZATION}/selfsubjectrulesreviews`
const TOKENS = `${AUTHENTICATION}/tokenreviews`
const SELF = `${AUTHENTICATION}/selfsubjectreviews`
const REVIEWS = [SELF_ACCESS, ACCESS, LOCAL, RULES, TOKENS, SELF]

const GET_PODS = { verb: 'get', resource: 'pods', namespace: 'default' }

/** A server on which `ann` may read Pods, roles and the path /metrics. */
async function startWithReader(): Promise<IdentityApi> {
  const api = await startIdentityApi([{ name: 'ann', groups: ['dev'] }])
  const rbac = 'rbac.authorization.k8s.io'
  await api.make(`${RBAC}/clusterroles`, {
    metadata: { name: 'reader' },
    rules: [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['web', 'db'] },
      { verbs: ['get'], apiGroups: ['rbac.authorization.orch.io'], resources: ['roles'] },
      { verbs: ['get'], nonResourceURLs: ['/metrics'] },
    ],
  })
  await api.make(`${RBAC}/namespaces/default/rolebindings`, {
    metadata: { name: 'readers' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'reader' },
    subjects: [{ apiGroup: rbac, kind: 'Group', name: 'dev' }],
  })
  return api
}

async function statusOf(
  api: IdentityApi,
  user: string,
  path: string,
  spec: JsonObject,
): Promise<JsonObject> {
  const { status, body, text } = await api.as(user, 'POST', path, { body: { spec } })
  if (status !== 201) throw new Error(`${status}: ${text}`)
  return objectAt(body, 'status')
}

test.each(REVIEWS)('%s takes POST alone, is not listed and has no objects', async (path) => {
  const api = await startIdentityApi()
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    expect([method, (await api.as('root', method, path)).status]).toEqual([method, 405])
  }
  for (const below of [`${path}/x`, path.replace('v1/', 'v1/watch/')]) {
    expect((await api.as('root', 'GET', below)).status).toBe(404)
  }
  expect((await api.call('POST', path, { body: {} })).status).toBe(401)
})

test.each([ACCESS, LOCAL, TOKENS])('%s is for those who are permitted to', async (path) => {
  const api = await startIdentityApi([{ name: 'ann' }])
  const { status, body } = await api.as('ann', 'POST', path, { body: { spec: {} } })
  expect([status, body['reason']]).toEqual([403, 'Forbidden'])
})

test.each<[string, JsonObject, string]>([
  [SELF_ACCESS, {}, 'spec.resourceAttributes: Required value: must be given'],
  [
    SELF_ACCESS,
    { resourceAttributes: GET_PODS, nonResourceAttributes: { verb: 'get', path: '/' } },
    'spec.nonResourceAttributes: Invalid value: ',
  ],
  [ACCESS, { user: 'ann' }, 'spec.resourceAttributes: Required value: must be given'],
  [ACCESS, { resourceAttributes: GET_PODS }, 'spec.user: Required value: must be given'],
  [ACCESS, { resourceAttributes: GET_PODS, user: '', groups: [] }, 'spec.user: Invalid value: ""'],
  [
    LOCAL,
    { resourceAttributes: { ...GET_PODS, namespace: 'other' }, user: 'ann' },
    'spec.resourceAttributes.namespace: Invalid value: "other"',
  ],
  [
    LOCAL,
    { resourceAttributes: { verb: 'get', resource: 'pods' }, user: 'ann' },
    'spec.resourceAttributes.namespace: Required value: ',
  ],
  [
    LOCAL,
    { nonResourceAttributes: { verb: 'get', path: '/' }, user: 'ann' },
    'spec.nonResourceAttributes: Invalid value: ',
  ],
])('%s with %j is invalid', async (path, spec, message) => {
  const api = await startIdentityApi()
  const { status, body } = await api.as('root', 'POST', path, { body: { spec } })
  expect([status, stringAt(body, 'message')]).toEqual([422, expect.stringContaining(message)])
})

test.each<[string, JsonObject]>([
  [RULES, {}],
  [RULES, { spec: { namespace: '' } }],
  [TOKENS, { spec: {} }],
  [TOKENS, { spec: { token: '' } }],
  [TOKENS, { spec: { token: 7 } }],
  [TOKENS, { spec: { token: 'root' }, metadata: { namespace: 'default' } }],
  [LOCAL, { metadata: { namespace: 'other' }, spec: {} }],
  [ACCESS, { spec: { groups: 'system:masters', resourceAttributes: GET_PODS } }],
  [ACCESS, { kind: 'SelfSubjectAccessReview', spec: { resourceAttributes: GET_PODS } }],
])('%s with %j is malformed', async (path, body) => {
  const api = await startIdentityApi()
  expect((await api.as('root', 'POST', path, { body })).status).toBe(400)
})

test('a user reads what it may do, and by which binding', async () => {
  const api = await startWithReader()
  const review = (resourceAttributes: JsonObject) =>
    statusOf(api, 'ann', SELF_ACCESS, { resourceAttributes })
  expect(await review({ ...GET_PODS, name: 'web' })).toEqual({
    allowed: true,
    reason: 'RBAC: allowed by RoleBinding "default/readers" of ClusterRole "reader"',
  })
  for (const refused of [
    GET_PODS,
    { ...GET_PODS, name: 'other' },
    { ...GET_PODS, name: 'web', verb: 'delete' },
    { ...GET_PODS, name: 'web', namespace: '' },
    { ...GET_PODS, name: 'web', subresource: 'log' },
    { ...GET_PODS, name: 'web', group: 'apps' },
  ]) {
    expect([refused, await review(refused)]).toEqual([refused, { allowed: false }])
  }
})

test.each(['rbac.authorization.k8s.io', 'rbac.authorization.orch.io'])(
  'a review that calls the group %s is decided as a request is',
  async (group) => {
    const api = await startWithReader()
    const resourceAttributes = { ...GET_PODS, resource: 'roles', group }
    expect(await statusOf(api, 'ann', SELF_ACCESS, { resourceAttributes })).toMatchObject({
      allowed: true,
    })
    const path = `/apis/${group}/v1/namespaces/default/roles/x`
    expect((await api.as('ann', 'GET', path)).status).toBe(404)
  },
)

test('a review of another user uses nothing of its sender', async () => {
  const api = await startWithReader()
  const resourceAttributes = { ...GET_PODS, name: 'web' }
  const allowed = async (path: string, subject: JsonObject): Promise<unknown> =>
    (await statusOf(api, 'root', path, { resourceAttributes, ...subject }))['allowed']
  for (const path of [ACCESS, LOCAL]) {
    expect(await allowed(path, { user: 'bob', groups: ['dev'] })).toBe(true)
    expect(await allowed(path, { groups: ['dev'] })).toBe(true)
    expect(await allowed(path, { user: 'ann' })).toBe(false)
    expect(await allowed(path, { user: 'root' })).toBe(false)
    const extra = { scopes: ['dev'] }
    expect(await allowed(path, { user: 'ann', uid: 'dev', extra })).toBe(false)
  }
})

test('a path is decided by grants for the whole cluster alone, and the rules say the same', async () => {
  const api = await startWithReader()
  const nonResourceAttributes = { verb: 'get', path: '/metrics' }
  const review = () => statusOf(api, 'ann', SELF_ACCESS, { nonResourceAttributes })
  expect((await review())['allowed']).toBe(false)
  const rules = await statusOf(api, 'ann', RULES, { namespace: 'default' })
  expect(rules['incomplete']).toBe(false)
  expect(rules['resourceRules']).toContainEqual({
    verbs: ['get'],
    apiGroups: [''],
    resources: ['pods'],
    resourceNames: ['web', 'db'],
  })
  expect(rules['resourceRules']).toContainEqual({
    verbs: ['get'],
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles'],
  })
  const urls = arrayAt(rules, 'nonResourceRules').flatMap((one) => arrayAt(one, 'nonResourceURLs'))
  expect(urls).toContain('/apis')
  expect(urls).not.toContain('/metrics')
  const elsewhere = await statusOf(api, 'ann', RULES, { namespace: 'other' })
  expect(JSON.stringify(elsewhere)).not.toContain('"pods"')
})

test('a token is reviewed for its audience, and rejected without a reason', async () => {
  const api = await startIdentityApi([{ name: 'ann', groups: ['dev'] }])
  const own = 'https://orch.default.svc'
  await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'builder' } })
  const token = await api.tokenFor('default', 'builder')
  const accepted = await statusOf(api, 'root', TOKENS, { token })
  expect(accepted).toMatchObject({
    authenticated: true,
    audiences: [own],
    user: {
      username: 'system:serviceaccount:default:builder',
      uid: expect.any(String),
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=id'] },
    },
  })
  expect(await statusOf(api, 'root', TOKENS, { token, audiences: ['x', own] })).toEqual(accepted)
  const other = { token: 'ann', audiences: [own, 'x'] }
  expect(await statusOf(api, 'root', TOKENS, other)).toEqual({
    authenticated: true,
    audiences: [own],
    user: { username: 'ann', groups: ['dev', 'system:authenticated'] },
  })
  const rejected = { authenticated: false, error: 'the token is not accepted' }
  for (const spec of [
    { token, audiences: ['vault'] },
    { token: 'ann', audiences: ['vault'] },
    { token: `${token.slice(0, -4)}AAAA` },
    { token: 'unknown' },
  ]) {
    expect(await statusOf(api, 'root', TOKENS, spec)).toEqual(rejected)
  }
  await api.as('root', 'DELETE', '/api/v1/namespaces/default/serviceaccounts/builder')
  expect(await statusOf(api, 'root', TOKENS, { token })).toEqual(rejected)
})

test.each(['v1', 'v1beta1', 'v1alpha1'])('whoami in %s names the impersonated', async (version) => {
  const api = await startIdentityApi([{ name: 'ann' }])
  const path = SELF.replace('v1', version)
  const body = { apiVersion: `authentication.k8s.io/${version}`, kind: 'SelfSubjectReview' }
  const own = await api.as('ann', 'POST', path, { body })
  expect(own.status).toBe(201)
  expect(own.body).toEqual({
    ...body,
    metadata: {},
    status: { userInfo: { username: 'ann', groups: ['system:authenticated'] } },
  })
  const headers = { 'impersonate-user': 'bob', 'impersonate-extra-scopes': 'a' }
  const acting = await api.as('root', 'POST', path, { body, headers })
  expect(valueAt(acting.body, 'status', 'userInfo')).toEqual({
    username: 'bob',
    groups: ['system:authenticated'],
    extra: { scopes: ['a'] },
  })
})

test('kubectl sends reviews in protobuf', async () => {
  const api = await startIdentityApi([{ name: 'ann' }])
  const headers = { 'content-type': PROTOBUF, accept: `${PROTOBUF},application/json` }
  const body = Buffer.from(recordedBodies['auth can-i get pods'], 'hex')
  const { status, body: answer } = await api.as('ann', 'POST', SELF_ACCESS, { body, headers })
  expect([status, answer['status']]).toEqual([201, { allowed: false }])
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    const apiVersion = `authentication.k8s.io/${version}`
    const sent = encodeBody({ apiVersion, kind: 'SelfSubjectReview' })
    const given = { body: sent, headers }
    const self = await api.as('ann', 'POST', SELF.replace('v1', version), given)
    expect(valueAt(self.body, 'status', 'userInfo', 'username')).toBe('ann')
  }
})

test('a review is read in YAML, and is stored nowhere', async () => {
  const api = await startIdentityApi()
  const before = await api.store.revision()
  const headers = { accept: 'application/yaml' }
  const body = { metadata: { name: 'x' }, spec: { resourceAttributes: GET_PODS } }
  const { text } = await api.as('root', 'POST', SELF_ACCESS, { body, headers })
  expect(text).toContain('allowed: true')
  expect(await api.store.revision()).toBe(before)
})

test('discovery and OpenAPI know reviews as what is created alone', async () => {
  const api = await startApi()
  const { body } = await api.call('GET', AUTHORIZATION)
  const verbs = arrayAt(body, 'resources').map((one) => [
    stringAt(one, 'name'),
    valueAt(one, 'namespaced'),
    valueAt(one, 'verbs'),
  ])
  expect(verbs).toEqual([
    ['localsubjectaccessreviews', true, ['create']],
    ['selfsubjectaccessreviews', false, ['create']],
    ['selfsubjectrulesreviews', false, ['create']],
    ['subjectaccessreviews', false, ['create']],
  ])
  const { body: document } = await api.call('GET', '/openapi/v3/apis/authorization.k8s.io/v1')
  const operations = Object.entries(objectAt(document, 'paths')).map(([path, item]) => [
    path.replace(AUTHORIZATION, ''),
    Object.keys(objectAt(item)).filter((key) => key !== 'parameters'),
  ])
  expect(operations).toEqual([
    ['/namespaces/{namespace}/localsubjectaccessreviews', ['post']],
    ['/selfsubjectaccessreviews', ['post']],
    ['/selfsubjectrulesreviews', ['post']],
    ['/subjectaccessreviews', ['post']],
  ])
})

test('on a server without users everything is allowed, and no token is known', async () => {
  const api = await startApi()
  const access = { body: { spec: { resourceAttributes: GET_PODS } } }
  expect((await api.call('POST', SELF_ACCESS, access)).body['status']).toEqual({ allowed: true })
  const { body } = await api.call('POST', TOKENS, { body: { spec: { token: 'x' } } })
  expect(body['status']).toMatchObject({ authenticated: false })
})
