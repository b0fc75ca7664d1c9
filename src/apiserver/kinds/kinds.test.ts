import { expect, test } from 'vitest'
import { type JsonObject, objectAt, valueAt } from '../../lib/json.ts'
import { POD, startApi } from '../testing/test-api.ts'

const CORE = '/api/v1/namespaces/default'
const APPS = '/apis/apps/v1/namespaces/default'
const DEPLOYMENTS = `${APPS}/deployments`
const MERGE = { headers: { 'content-type': 'application/merge-patch+json' } }

const WEB = {
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { ...POD, serviceAccountName: 'web' } },
  },
}

test.each<[string, JsonObject]>([
  [`${CORE}/configmaps`, { data: { a: 'x' } }],
  [`${CORE}/secrets`, { data: { a: 'eA==' } }],
  [`${CORE}/serviceaccounts`, { imagePullSecrets: [{ name: 'a' }] }],
  ['/apis/rbac.authorization.k8s.io/v1/clusterroles', { rules: [] }],
  [DEPLOYMENTS, { spec: WEB.spec }],
  [`${APPS}/daemonsets`, { spec: WEB.spec }],
  [`${APPS}/replicasets`, { spec: WEB.spec }],
  [`${APPS}/statefulsets`, { spec: WEB.spec }],
  [`${APPS}/controllerrevisions`, { data: { spec: {} }, revision: 3 }],
  ['/apis/policy/v1/namespaces/default/poddisruptionbudgets', { spec: { maxUnavailable: 1 } }],
])('%s are made, listed, labelled and deleted', async (path, parts) => {
  const api = await startApi()
  const made = await api.make(path, { metadata: { name: 'x' }, ...parts })
  expect(made).toMatchObject(parts)
  const labels = { a: 'b' }
  const body = { metadata: { labels } }
  expect((await api.call('PATCH', `${path}/x`, { body, ...MERGE })).body).toMatchObject(body)
  const listed = await api.call('GET', `${path}?labelSelector=a%3Db`)
  expect(listed.body).toMatchObject({ items: [{ metadata: { name: 'x', labels } }] })
  expect((await api.call('DELETE', `${path}/x`)).status).toBe(200)
  expect((await api.call('GET', `${path}/x`)).status).toBe(404)
})

test('what is written as text in a Secret is read as base64, beside what was there', async () => {
  const api = await startApi()
  await api.make(`${CORE}/secrets`, { metadata: { name: 'x' }, stringData: { a: '1', b: '2' } })
  const body = { stringData: { b: '3' } }
  const patched = await api.call('PATCH', `${CORE}/secrets/x`, { body, ...MERGE })
  expect(patched.body['data']).toEqual({ a: 'MQ==', b: 'Mw==' })
  expect(patched.body).not.toHaveProperty('stringData')
})

test('Secrets are selected by type, which may not change', async () => {
  const api = await startApi()
  await api.make(`${CORE}/secrets`, { metadata: { name: 'x' }, type: 'a/b' })
  await api.make(`${CORE}/secrets`, { metadata: { name: 'y' } })
  const { body } = await api.call('GET', `${CORE}/secrets?fieldSelector=type%3Da%2Fb`)
  expect(body).toMatchObject({ items: [{ metadata: { name: 'x' } }] })
  const refused = await api.call('PATCH', `${CORE}/secrets/x`, { body: { type: 'c/d' }, ...MERGE })
  expect([refused.status, refused.body['message']]).toEqual([
    422,
    'Secret "x" is invalid: type: Invalid value: "c/d": field is immutable; delete the object and create it again',
  ])
})

test('an immutable ConfigMap may be labelled and deleted, nothing else', async () => {
  const api = await startApi()
  const path = `${CORE}/configmaps`
  await api.make(path, { metadata: { name: 'x' }, data: { a: '1' }, immutable: true })
  const patch = (body: JsonObject) => api.call('PATCH', `${path}/x`, { body, ...MERGE })
  for (const body of [{ data: { a: '2' } }, { data: null }, { immutable: false }]) {
    expect((await patch(body)).status).toBe(422)
  }
  expect((await patch({ metadata: { labels: { a: 'b' } } })).status).toBe(200)
  expect((await api.call('DELETE', `${path}/x`)).status).toBe(200)
})

test('a Deployment keeps its selector, counts changes of its spec and has a status', async () => {
  const api = await startApi()
  const made = await api.make(DEPLOYMENTS, WEB)
  expect(made).toMatchObject({ metadata: { generation: 1 }, spec: { replicas: 1 }, status: {} })
  const patch = (suffix: string, body: JsonObject) =>
    api.call('PATCH', `${DEPLOYMENTS}/web${suffix}`, { body, ...MERGE })
  const scaled = await patch('', { spec: { replicas: 3 }, status: { readyReplicas: 9 } })
  expect(scaled.body).toMatchObject({ metadata: { generation: 2 }, status: {} })
  const reported = await patch('/status', { spec: { replicas: 4 }, status: { readyReplicas: 2 } })
  expect(reported.body).toMatchObject({ spec: { replicas: 3 }, status: { readyReplicas: 2 } })
  const labels = { app: 'other' }
  const moved = await patch('', {
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
  })
  expect([moved.status, valueAt(moved.body, 'details', 'causes', '0')]).toEqual([422, undefined])
  expect(moved.body['message']).toContain('spec.selector: Invalid value: ')
})

test.each<[string, JsonObject]>([
  ['daemonsets', { desiredNumberScheduled: 2, numberReady: 1 }],
  ['replicasets', { replicas: 2, fullyLabeledReplicas: 2, availableReplicas: 1 }],
  ['statefulsets', { replicas: 2, readyReplicas: 1 }],
])('%s count changes of their spec and have a status of their own', async (plural, status) => {
  const api = await startApi()
  const path = `${APPS}/${plural}`
  const made = await api.make(path, WEB)
  expect(made).toMatchObject({ metadata: { generation: 1 }, status: {} })
  const patch = (suffix: string, body: JsonObject) =>
    api.call('PATCH', `${path}/web${suffix}`, { body, ...MERGE })
  const changed = await patch('', { spec: { minReadySeconds: 3 }, status })
  expect(changed.body).toMatchObject({ metadata: { generation: 2 }, status: {} })
  const reported = await patch('/status', { spec: { minReadySeconds: 4 }, status })
  expect(reported.body).toMatchObject({
    metadata: { generation: 2 },
    spec: { minReadySeconds: 3 },
    status,
  })
})

test('a Lease is taken over with the version that was seen', async () => {
  const api = await startApi()
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
  const made = await api.make(path, { metadata: { name: 'x' }, spec: { holderIdentity: 'a' } })
  const spec = { holderIdentity: 'b' }
  expect((await api.call('PUT', `${path}/x`, { body: { ...made, spec } })).status).toBe(200)
  expect((await api.call('PUT', `${path}/x`, { body: { ...made, spec } })).status).toBe(409)
  const metadata = { name: objectAt(made, 'metadata')['name']! }
  expect((await api.call('PUT', `${path}/x`, { body: { metadata, spec } })).status).toBe(422)
})

test('a namespace has the label of its name', async () => {
  const api = await startApi()
  const made = await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  expect(made).toMatchObject({ metadata: { labels: { 'kubernetes.io/metadata.name': 'shop' } } })
})
