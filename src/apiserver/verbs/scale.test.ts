import { expect, test } from 'vitest'
import { arrayAt, type Json, valueAt } from '../../lib/json.ts'
import { startApi, type TestApi } from '../testing/test-api.ts'

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const SCALE = `${DEPLOYMENTS}/web/scale`
const MERGE = { 'content-type': 'application/merge-patch+json' }

async function withDeployment(): Promise<TestApi> {
  const api = await startApi()
  const labels = { app: 'web' }
  await api.make(DEPLOYMENTS, {
    metadata: { name: 'web', labels },
    spec: {
      replicas: 2,
      selector: {
        matchLabels: labels,
        matchExpressions: [{ key: 'old', operator: 'DoesNotExist' }],
      },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  })
  return api
}

function put(api: TestApi, spec: Json, metadata: Json = {}) {
  const body = { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata, spec }
  return api.call('PUT', SCALE, { body })
}

test('reads the number of replicas, with the identity of the object and the query of its Pods', async () => {
  const api = await withDeployment()
  const { status, body } = await api.call('GET', SCALE)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas: 2 },
    status: { replicas: 0, selector: 'app=web,!old' },
  })
  expect(valueAt(body, 'metadata', 'labels')).toBeUndefined()
})

test('PUT and PATCH change the replicas alone, and count a generation', async () => {
  const api = await withDeployment()
  const before = (await api.call('GET', `${DEPLOYMENTS}/web`)).body
  expect((await put(api, { replicas: 5 })).body).toMatchObject({ spec: { replicas: 5 } })
  const patched = await api.call('PATCH', SCALE, {
    body: { spec: { replicas: 7 } },
    headers: MERGE,
  })
  expect(patched.body).toMatchObject({ kind: 'Scale', spec: { replicas: 7 } })
  const { body } = await api.call('GET', `${DEPLOYMENTS}/web`)
  expect(body).toMatchObject({ spec: { replicas: 7 }, metadata: { generation: 3 } })
  expect(valueAt(body, 'spec', 'template')).toEqual(valueAt(before, 'spec', 'template'))
})

test('to zero: the field is absent, as typed clients write it', async () => {
  const api = await withDeployment()
  expect((await put(api, {})).body).toMatchObject({ spec: {} })
  expect((await api.call('GET', `${DEPLOYMENTS}/web`)).body).toMatchObject({
    spec: { replicas: 0 },
  })
})

test('a version that is not the present one is a conflict, and changes nothing', async () => {
  const api = await withDeployment()
  const { body } = await api.call('GET', SCALE)
  const version = valueAt(body, 'metadata', 'resourceVersion') as Json
  expect((await put(api, { replicas: 3 }, { resourceVersion: version })).status).toBe(200)
  expect((await put(api, { replicas: 4 }, { resourceVersion: version })).status).toBe(409)
  expect((await api.call('GET', SCALE)).body).toMatchObject({ spec: { replicas: 3 } })
})

test.each([
  [{ replicas: -1 }, 'must be an integer from 0 to 2147483647'],
  [{ replicas: '3' }, 'must be an integer from 0 to 2147483647'],
  [{ replicas: 1.5 }, 'must be an integer from 0 to 2147483647'],
])('%j is 422', async (spec, why) => {
  const { status, body } = await put(await withDeployment(), spec)
  expect([status, body['message']]).toEqual([422, expect.stringContaining(why)])
  expect(body['message']).toContain('Scale.autoscaling "web" is invalid: spec.replicas')
})

test('another kind, another name and a missing object are refused', async () => {
  const api = await withDeployment()
  const wrong = { kind: 'Deployment', apiVersion: 'apps/v1', spec: { replicas: 1 } }
  expect((await api.call('PUT', SCALE, { body: wrong })).status).toBe(400)
  expect((await put(api, { replicas: 1 }, { name: 'other' })).status).toBe(400)
  expect((await api.call('GET', `${DEPLOYMENTS}/none/scale`)).status).toBe(404)
})

test('64 patches at once are all answered, and the last one stands', async () => {
  const api = await withDeployment()
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, replicas) =>
      api.call('PATCH', SCALE, { body: { spec: { replicas } }, headers: MERGE }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
})

test('discovery says that it is a Scale of autoscaling', async () => {
  const api = await startApi()
  const { body } = await api.call('GET', '/apis/apps/v1')
  expect(arrayAt(body, 'resources')).toContainEqual(
    expect.objectContaining({
      name: 'deployments/scale',
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: ['get', 'patch', 'update'],
    }),
  )
})

test('server-side apply is not among the patches that a refusal names', async () => {
  const api = await withDeployment()
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const { status, body } = await api.call('PATCH', SCALE, { body: {}, headers })
  expect(status).toBe(415)
  expect(body['message']).toContain('application/merge-patch+json')
  expect(body['message']).not.toContain('apply')
})
