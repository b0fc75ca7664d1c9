import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { Store, WatchBatch } from '../../storage/store.ts'
import { POD, PODS, SERVICES, service, startApi } from '../testing/test-api.ts'

const ENVIRONMENT = `${PODS}/web-1/environment`

test('a Pod’s environment names the Services of its namespace, as they are now', async () => {
  const api = await startApi()
  const pod = await api.make(PODS, { metadata: { name: 'web-1' }, spec: POD })
  await api.make('/api/v1/namespaces', { metadata: { name: 'other' } })
  await api.make(SERVICES.replace('default', 'other'), service('hidden'))
  await api.make(SERVICES, service('web', { clusterIP: '10.96.0.10' }))
  const { status, body } = await api.call('GET', ENVIRONMENT)
  expect(status).toBe(200)
  const uid = valueAt(pod, 'metadata', 'uid')!
  expect(body).toMatchObject({ kind: 'PodEnvironment', apiVersion: 'v1', metadata: { uid } })
  expect(arrayAt(body, 'env').slice(0, 2)).toEqual([
    { name: 'WEB_SERVICE_HOST', value: '10.96.0.10' },
    { name: 'WEB_SERVICE_PORT', value: '80' },
  ])
  expect(arrayAt(body, 'env')).toHaveLength(7)
})

test('Pods of all namespaces get the API’s Services, and nothing else of that namespace', async () => {
  const api = await startApi()
  await api.make('/api/v1/namespaces', { metadata: { name: 'other' } })
  const path = PODS.replace('default', 'other')
  await api.make(path, { metadata: { name: 'web-1' }, spec: POD })
  for (const name of ['kubernetes', 'orch', 'web']) await api.make(SERVICES, service(name))
  const { body } = await api.call('GET', `${path}/web-1/environment`)
  const names = arrayAt(body, 'env').map((one) => stringAt(one, 'name'))
  expect(names.filter((name) => name.endsWith('_SERVICE_HOST'))).toEqual([
    'KUBERNETES_SERVICE_HOST',
    'ORCH_SERVICE_HOST',
  ])
})

test('what was acknowledged is in it, although the caches come later', async () => {
  const [isRequested, mayFollow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isHeld = false
  async function* held(batches: AsyncIterable<WatchBatch>) {
    for await (const batch of batches) {
      if (isHeld) await mayFollow.promise
      yield batch
    }
  }
  const wrap = (store: Store): Store => ({
    ...store,
    watch: (query) => held(store.watch(query)),
    revision: () => {
      if (isHeld) isRequested.resolve()
      return store.revision()
    },
  })
  const api = await startApi({ wrap })
  isHeld = true
  await api.make(PODS, { metadata: { name: 'web-1' }, spec: POD })
  await api.make(SERVICES, service('web'))
  const answer = api.call('GET', ENVIRONMENT)
  await Promise.race([isRequested.promise, answer])
  mayFollow.resolve()
  expect(arrayAt((await answer).body, 'env')).toHaveLength(7)
})

test('an environment can only be read, as JSON, of a Pod that there is', async () => {
  const api = await startApi()
  expect((await api.call('GET', ENVIRONMENT)).body['message']).toBe('pods "web-1" not found')
  await api.make(PODS, { metadata: { name: 'web-1' }, spec: POD })
  expect((await api.call('PUT', ENVIRONMENT, { body: {} })).status).toBe(405)
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  expect((await api.call('GET', ENVIRONMENT, { headers: { accept } })).status).toBe(406)
})

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

test('it is announced in discovery, and described', async () => {
  const api = await startApi()
  const { body } = await api.call('GET', '/api/v1')
  const kind = 'PodEnvironment'
  expect(arrayAt(body, 'resources')).toContainEqual({
    name: 'pods/environment',
    singularName: '',
    namespaced: true,
    kind,
    verbs: ['get'],
  })
  const { text } = await api.call('GET', '/api', { headers: { accept: AGGREGATED } })
  const core = arrayAt(arrayAt(JSON.parse(text) as JsonObject, 'items')[0], 'versions')[0]
  const pods = arrayAt(core, 'resources').find((one) => valueAt(one, 'resource') === 'pods')
  expect(arrayAt(pods, 'subresources')).toContainEqual({
    subresource: 'environment',
    responseKind: { group: '', version: 'v1', kind },
    verbs: ['get'],
  })
  const { body: described } = await api.call('GET', '/openapi/v3/api/v1')
  const path = '/api/v1/namespaces/{namespace}/pods/{name}/environment'
  expect(valueAt(described, 'paths', path, 'get', 'operationId')).toBe(
    'getCoreV1NamespacedPodEnvironment',
  )
  const schema = valueAt(described, 'components', 'schemas', 'io.k8s.api.core.v1.PodEnvironment')
  expect(valueAt(schema, 'properties', 'env', 'items')).toBeDefined()
  const kinds = valueAt(schema, 'x-kubernetes-group-version-kind')
  expect(kinds).toEqual([{ group: '', version: 'v1', kind }])
})
