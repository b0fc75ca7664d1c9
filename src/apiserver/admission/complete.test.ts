import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createFastClock } from '../../lib/testing/fast-clock.ts'
import type { Store } from '../../storage/store.ts'
import { type IdentityApi, startIdentityApi } from '../testing/identity-api.ts'
import { lateCaches } from '../testing/late-caches.ts'
import { POD, PODS, startApi } from '../testing/test-api.ts'

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const DEFAULT = { metadata: { name: 'default' } }
const YAML = { 'content-type': 'application/apply-patch+yaml' }

function pod(name: string, spec: JsonObject = {}): JsonObject {
  return { metadata: { name }, spec: { ...POD, ...spec } }
}

async function startWithDefault(): Promise<IdentityApi> {
  const api = await startIdentityApi()
  await api.make(ACCOUNTS, DEFAULT)
  return api
}

test('a Pod that a client creates or applies has its account and token, with all defaults', async () => {
  const api = await startWithDefault()
  const made = await api.make(PODS, pod('a'))
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod('b') })
  const path = `${PODS}/b?fieldManager=test`
  const applied = await api.as('root', 'PATCH', path, { body, headers: YAML })
  expect(applied.status).toBe(201)
  for (const one of [made, applied.body]) {
    expect(one['spec']).toMatchObject({
      serviceAccountName: 'default',
      containers: [{ volumeMounts: [{ readOnly: true }, { readOnly: true }] }],
      volumes: [{ projected: { defaultMode: 420 } }],
    })
    const [volume] = arrayAt(one, 'spec', 'volumes')
    expect(stringAt(volume, 'name')).toMatch(/^kube-api-access-[a-z2-9]{5}$/)
  }
  const again = await api.as('root', 'PATCH', path, { body, headers: YAML })
  expect([again.status, again.body['spec']]).toEqual([200, applied.body['spec']])
})

test('updates neither need the account nor change what the Pod got of it', async () => {
  const api = await startWithDefault()
  const made = await api.make(PODS, pod('a'))
  expect((await api.as('root', 'DELETE', `${ACCOUNTS}/default`)).status).toBe(200)
  const status = { ...made, status: { phase: 'Running' } }
  const updated = await api.as('root', 'PUT', `${PODS}/a/status`, { body: status })
  expect([updated.status, updated.body['spec']]).toEqual([200, made['spec']])
})

test.each([
  ['a name', { name: 'a' }, 'a'],
  ['a generated name', { generateName: 'web-' }, 'web-'],
])('a missing account is 403 for a Pod with %s, and a dry run', async (_what, metadata, shown) => {
  const api = await startWithDefault()
  const body = { metadata, spec: { ...POD, serviceAccountName: 'x' } }
  for (const path of [PODS, `${PODS}?dryRun=All`]) {
    const refused = await api.as('root', 'POST', path, { body })
    expect([refused.status, refused.body]).toMatchObject([
      403,
      {
        reason: 'Forbidden',
        message: `pods "${shown}" is forbidden: error looking up service account default/x: serviceaccount "x" not found`,
        details: { kind: 'pods', name: shown },
      },
    ])
  }
  expect((await api.as('root', 'GET', PODS)).body['items']).toEqual([])
})

test('an account of another namespace does not count', async () => {
  const api = await startWithDefault()
  await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  await api.make('/api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'x' } })
  const body = pod('a', { serviceAccountName: 'x' })
  expect((await api.as('root', 'POST', PODS, { body })).status).toBe(403)
})

test('a Secret that the account does not permit is 403', async () => {
  const api = await startIdentityApi()
  const annotations = { 'orch.io/enforce-mountable-secrets': 'true' }
  await api.make(ACCOUNTS, { metadata: { name: 'default', annotations } })
  const volumes = [{ name: 'v', secret: { secretName: 'db' } }]
  const refused = await api.as('root', 'POST', PODS, { body: pod('a', { volumes }) })
  expect([refused.status, refused.body['message']]).toEqual([
    403,
    'pods "a" is forbidden: volume with secret.secretName="db" is not allowed because service account default does not reference that secret',
  ])
})

test('a Pod of a new namespace waits for the default account, without the slot of who makes it', async () => {
  const api = await startIdentityApi([], { limits: { mutatingRequestsInFlight: 1 } })
  await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  const inShop = '/api/v1/namespaces/shop'
  const waiting = api.as('root', 'POST', `${inShop}/pods`, { body: pod('a') })
  const waits = 'apiserver_current_inqueue_requests{request_kind="mutating"} 1\n'
  await expect.poll(async () => (await api.as('root', 'GET', '/metrics')).text).toContain(waits)
  await api.make(`${inShop}/serviceaccounts`, { metadata: { name: 'other' } })
  await api.make(`${inShop}/serviceaccounts`, DEFAULT)
  const made = await waiting
  expect([made.status, valueAt(made.body, 'spec', 'serviceAccountName')]).toEqual([201, 'default'])
})

test('without a default account the wait ends with 403', async () => {
  const api = await startIdentityApi([], { clock: createFastClock(20) })
  const refused = await api.as('root', 'POST', PODS, { body: pod('a') })
  expect([refused.status, refused.body['message']]).toEqual([
    403,
    'pods "a" is forbidden: error looking up service account default/default: serviceaccount "default" not found',
  ])
})

test('a node that may not make a Pod hears so without a wait for the default account', async () => {
  const node = { name: 'system:node:n1', groups: ['system:nodes'] }
  const api = await startIdentityApi([node], { clock: new FakeClock() })
  const refused = await api.as(node.name, 'POST', PODS, { body: pod('a', { nodeName: 'n1' }) })
  expect([refused.status, refused.body['message']]).toEqual([
    403,
    expect.stringContaining('node "n1" may create mirror Pods only'),
  ])
})

test('an account counts as soon as its creation is answered, though caches are late', async () => {
  const late = lateCaches()
  const wrap = (store: Store): Store => {
    const revision = (): Promise<number> => {
      late.release()
      return store.revision()
    }
    return late.wrap({ ...store, revision })
  }
  const api = await startIdentityApi([], { wrap })
  late.hold()
  await api.make(ACCOUNTS, { metadata: { name: 'x' } })
  const made = await api.make(PODS, pod('a', { serviceAccountName: 'x' }))
  expect(valueAt(made, 'spec', 'serviceAccountName')).toBe('x')
})

test('a missing namespace is 404, a closed one 403, before any account is looked up', async () => {
  const api = await startIdentityApi()
  const path = '/api/v1/namespaces/nowhere/pods'
  expect((await api.as('root', 'POST', path, { body: pod('a') })).status).toBe(404)
  await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  await api.make('/api/v1/namespaces/shop/configmaps', {
    metadata: { name: 'keeps', finalizers: ['example.com/x'] },
  })
  await api.as('root', 'DELETE', '/api/v1/namespaces/shop')
  const shop = '/api/v1/namespaces/shop/pods'
  const refused = await api.as('root', 'POST', shop, { body: pod('a') })
  expect([refused.status, refused.body['message']]).toEqual([
    403,
    expect.stringContaining('being terminated'),
  ])
})

test('a Pod that is no mirror cannot become one, nor the reverse', async () => {
  const api = await startWithDefault()
  const annotations = { 'kubernetes.io/config.mirror': 'x' }
  await api.make(PODS, pod('a'))
  await api.make(PODS, { metadata: { name: 'mirror', annotations }, spec: POD })
  const headers = { 'content-type': 'application/merge-patch+json' }
  for (const [name, value] of [
    ['a', 'x'],
    ['mirror', 'y'],
    ['mirror', null],
  ] as const) {
    const body = { metadata: { annotations: { 'kubernetes.io/config.mirror': value } } }
    const refused = await api.as('root', 'PATCH', `${PODS}/${name}`, { body, headers })
    expect([name, refused.status]).toEqual([name, 422])
  }
})

test('a server that knows no users leaves Pods as they are', async () => {
  const api = await startApi()
  const made = await api.make(PODS, pod('a'))
  expect(made['spec']).not.toHaveProperty('serviceAccountName')
  expect(made['spec']).not.toHaveProperty('volumes')
})
