import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { type JsonObject, stringAt, valueAt } from '../../../lib/json.ts'
import { PROTOBUF } from '../../encoding/decode-protobuf.ts'
import { recordedBodies } from '../../encoding/testing/recorded-bodies.ts'
import { type IdentityApi, startIdentityApi } from '../../testing/identity-api.ts'
import { type Answer, POD, PODS, startApi } from '../../testing/test-api.ts'

const ISSUER = 'https://orch.default.svc'
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const SECRETS = '/api/v1/namespaces/default/secrets'

async function startWithAccounts(
  options: Parameters<typeof startIdentityApi>[1] = {},
): Promise<IdentityApi> {
  const api = await startIdentityApi([{ name: 'ann' }], options)
  for (const name of ['builder', 'other']) await api.make(ACCOUNTS, { metadata: { name } })
  return api
}

function request(api: IdentityApi, spec: JsonObject, account = 'builder'): Promise<Answer> {
  return api.as('root', 'POST', `${ACCOUNTS}/${account}/token`, { body: { spec } })
}

test.each<[string, JsonObject]>([
  ['spec.expirationSeconds: Invalid value: 599', { expirationSeconds: 599 }],
  ['spec.expirationSeconds: Invalid value: 0', { expirationSeconds: 0 }],
  ['spec.expirationSeconds: Invalid value: -600', { expirationSeconds: -600 }],
  ['spec.expirationSeconds: Invalid value: 4294967297', { expirationSeconds: 2 ** 32 + 1 }],
  ['spec.audiences: Invalid value: ["xxx', { audiences: ['x'.repeat(5000)] }],
])('invalid: %s', async (message, spec) => {
  const api = await startWithAccounts()
  const { status, body } = await request(api, spec)
  expect([status, body['message']]).toEqual([422, expect.stringContaining(message)])
})

test.each<JsonObject>([
  { spec: { expirationSeconds: 3600.5 } },
  { spec: { expirationSeconds: '3600' } },
  { spec: { audiences: 'vault' } },
  { kind: 'TokenReview' },
  { apiVersion: 'v1', kind: 'TokenRequest' },
  { metadata: { name: 'other' } },
  { metadata: { namespace: 'other' } },
])('%j is malformed', async (body) => {
  const api = await startWithAccounts()
  expect((await api.as('root', 'POST', `${ACCOUNTS}/builder/token`, { body })).status).toBe(400)
})

test('only who may create tokens of an account gets one, and only by POST', async () => {
  const api = await startWithAccounts()
  const path = `${ACCOUNTS}/builder/token`
  const { status, body } = await api.as('ann', 'POST', path, { body: {} })
  expect([status, body['message']]).toEqual([
    403,
    'serviceaccounts "builder" is forbidden: User "ann" cannot create resource "serviceaccounts/token" in API group "" in the namespace "default"',
  ])
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    expect((await api.as('root', method, path)).status).toBe(405)
  }
  expect((await request(api, {}, 'missing')).status).toBe(404)
})

test('a token is for an hour and for this server, unless the request says otherwise', async () => {
  const api = await startWithAccounts()
  const { status, body } = await request(api, {})
  expect([status, body]).toEqual([
    201,
    {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name: 'builder', namespace: 'default', creationTimestamp: expect.any(String) },
      spec: { audiences: [ISSUER], expirationSeconds: 3600 },
      status: { token: expect.any(String), expirationTimestamp: expect.any(String) },
    },
  ])
  const token = stringAt(body, 'status', 'token')
  const claims = decodeJwt(token)
  expect(Number(claims.exp) - Number(claims.iat)).toBe(3600)
  expect(Date.parse(stringAt(body, 'status', 'expirationTimestamp'))).toBe(
    Number(claims.exp) * 1000,
  )
  expect((await api.as(token, 'GET', PODS)).status).toBe(403)
  const foreign = await request(api, { audiences: ['vault'], expirationSeconds: 600 })
  const vault = stringAt(foreign.body, 'status', 'token')
  expect(decodeJwt(vault)).toMatchObject({
    aud: ['vault'],
    sub: expect.stringMatching(/:builder$/),
  })
  expect((await api.as(vault, 'GET', PODS)).status).toBe(401)
})

test('the longest audiences still make a token that the server accepts', async () => {
  const api = await startWithAccounts()
  const audiences = [ISSUER, 'x'.repeat(4000)]
  const { body } = await request(api, { audiences })
  expect((await api.as(stringAt(body, 'status', 'token'), 'GET', PODS)).status).toBe(403)
})

test('the server shortens a life that it finds too long', async () => {
  const api = await startWithAccounts({ identity: { maxTokenLifetime: 7200 } })
  const { body } = await request(api, { expirationSeconds: 86_400 })
  const { exp, iat } = decodeJwt(stringAt(body, 'status', 'token'))
  expect([valueAt(body, 'spec', 'expirationSeconds'), Number(exp) - Number(iat)]).toEqual([
    7200, 7200,
  ])
})

test('a token is bound to a Pod of the account, a Secret or a Node', async () => {
  const api = await startWithAccounts()
  const spec = { ...POD, serviceAccountName: 'builder' }
  const made = {
    Pod: await api.make(PODS, { metadata: { name: 'web' }, spec }),
    Secret: await api.make(SECRETS, { metadata: { name: 'web' } }),
    Node: await api.make('/api/v1/nodes', { metadata: { name: 'web' } }),
  }
  for (const [kind, object] of Object.entries(made)) {
    const uid = stringAt(object, 'metadata', 'uid')
    const { body } = await request(api, { boundObjectRef: { kind, apiVersion: 'v1', name: 'web' } })
    expect(decodeJwt(stringAt(body, 'status', 'token'))['kubernetes.io']).toMatchObject({
      namespace: 'default',
      [kind.toLowerCase()]: { name: 'web', uid },
    })
    const named = { kind, apiVersion: 'v1', name: 'web', uid }
    expect((await request(api, { boundObjectRef: named })).status).toBe(201)
    const renewed = { ...named, uid: 'another' }
    expect([kind, (await request(api, { boundObjectRef: renewed })).status]).toEqual([kind, 409])
    const missing = { ...named, name: 'gone' }
    expect([kind, (await request(api, { boundObjectRef: missing })).status]).toEqual([kind, 404])
  }
  const foreign = await request(api, { boundObjectRef: { kind: 'Pod', name: 'web' } }, 'other')
  expect([foreign.status, foreign.body['message']]).toEqual([
    400,
    'a token of the account "other" cannot be bound to a Pod of another account',
  ])
})

test.each<JsonObject>([
  { kind: 'ConfigMap', apiVersion: 'v1', name: 'x' },
  { kind: 'Pod', apiVersion: 'apps/v1', name: 'x' },
  { kind: 'ServiceAccount', apiVersion: 'v1', name: 'builder' },
  { kind: 'constructor', name: 'x' },
  { name: 'x' },
  {},
])('no token is bound to %j', async (boundObjectRef) => {
  const api = await startWithAccounts()
  expect((await request(api, { boundObjectRef })).status).toBe(400)
})

test.each(['', '../shop/web', 'shop/web', '%2e%2e/shop/web'])(
  'a token is not bound to a Pod of another namespace called %j',
  async (name) => {
    const api = await startWithAccounts()
    await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
    await api.make(ACCOUNTS.replace('default', 'shop'), { metadata: { name: 'builder' } })
    const spec = { ...POD, serviceAccountName: 'builder' }
    await api.make(PODS.replace('default', 'shop'), { metadata: { name: 'web' }, spec })
    const { status } = await request(api, { boundObjectRef: { kind: 'Pod', name } })
    expect(status).toBe(404)
  },
)

test('the token ends with the Pod that it is bound to', async () => {
  const api = await startWithAccounts()
  const spec = { ...POD, serviceAccountName: 'builder' }
  await api.make(PODS, { metadata: { name: 'web' }, spec })
  const { body } = await request(api, { boundObjectRef: { kind: 'Pod', name: 'web' } })
  const token = stringAt(body, 'status', 'token')
  expect((await api.as(token, 'GET', PODS)).status).toBe(403)
  await api.as('root', 'DELETE', `${PODS}/web?gracePeriodSeconds=0`)
  await expect.poll(async () => (await api.as(token, 'GET', PODS)).status).toBe(401)
})

test('kubectl requests a token in protobuf, and the store keeps nothing of it', async () => {
  const api = await startWithAccounts()
  const before = await api.store.revision()
  const headers = { 'content-type': PROTOBUF, accept: `${PROTOBUF},application/json` }
  const body = Buffer.from(recordedBodies['create token builder --duration=10m'], 'hex')
  const answer = await api.as('root', 'POST', `${ACCOUNTS}/builder/token`, { body, headers })
  expect([answer.status, answer.body['spec']]).toMatchObject([201, { expirationSeconds: 600 }])
  expect(await api.store.revision()).toBe(before)
})

test('discovery and OpenAPI know the subresource under the group of its own', async () => {
  const api = await startApi()
  const { body } = await api.call('GET', '/api/v1')
  expect(body['resources']).toContainEqual({
    name: 'serviceaccounts/token',
    singularName: '',
    namespaced: true,
    kind: 'TokenRequest',
    group: 'authentication.k8s.io',
    version: 'v1',
    verbs: ['create'],
  })
  const { body: document } = await api.call('GET', '/openapi/v3/api/v1')
  const path = '/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token'
  expect(valueAt(document, 'paths', path, 'post')).toMatchObject({
    'x-kubernetes-group-version-kind': { group: 'authentication.k8s.io', kind: 'TokenRequest' },
  })
})

test('a server without users issues no tokens', async () => {
  const api = await startApi()
  await api.make(ACCOUNTS, { metadata: { name: 'builder' } })
  const { status, body } = await api.call('POST', `${ACCOUNTS}/builder/token`, { body: {} })
  expect([status, stringAt(body, 'message')]).toEqual([
    404,
    'this server issues no tokens, because it knows no users',
  ])
})

test('no log and no metric holds a token, whether it is issued, reviewed or rejected', async () => {
  const written: unknown[] = []
  const note = (...parts: unknown[]): void => void written.push(parts)
  const api = await startWithAccounts({
    log: { info: note, warn: note },
    identity: { onRejected: note },
  })
  const { body } = await request(api, {})
  const token = stringAt(body, 'status', 'token')
  const reviews = '/apis/authentication.k8s.io/v1/tokenreviews'
  for (const sent of [token, `${token}x`]) {
    await api.as('root', 'POST', reviews, { body: { spec: { token: sent } } })
    await api.as(sent, 'GET', PODS)
    const mistyped = { body: { spec: { token: [sent] } } }
    expect((await api.as('root', 'POST', reviews, mistyped)).text).not.toContain(token)
  }
  written.push((await api.as('root', 'GET', '/metrics')).text)
  expect(written.length).toBeGreaterThan(1)
  expect(JSON.stringify(written)).not.toContain(token.slice(-20))
})
