import { expect, test } from 'vitest'
import { type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { lateCaches } from '../testing/late-caches.ts'
import {
  POD,
  PODS,
  SERVICES,
  SLICES,
  service,
  startApi,
  type TestApi,
} from '../testing/test-api.ts'

function namesOf(list: JsonObject): readonly string[] {
  return (list['items'] as JsonObject[]).map((item) => stringAt(item, 'metadata', 'name'))
}

async function fill(api: TestApi, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    await api.make(PODS, {
      metadata: {
        name: `p${String(index).padStart(3, '0')}`,
        labels: { parity: index % 2 ? 'odd' : 'even' },
      },
      spec: { ...POD, nodeName: `n${index % 3}` },
    })
  }
}

test('a list shows every object in order, with the newest revision', async () => {
  const api = await startApi()
  await api.make('/api/v1/namespaces', { metadata: { name: 'other' } })
  await api.make(SERVICES, service('b'))
  const made = await api.make(SERVICES, service('a'))
  await api.make(SERVICES.replace('default', 'other'), service('c'))
  const { body } = await api.call('GET', SERVICES)
  expect(body).toMatchObject({ kind: 'ServiceList', apiVersion: 'v1' })
  expect(namesOf(body)).toEqual(['a', 'b'])
  const { kind: _kind, apiVersion: _apiVersion, ...item } = made
  expect((body['items'] as JsonObject[])[0]).toEqual(item)
  expect(valueAt(body, 'metadata', 'resourceVersion')).toBe(String(await api.store.revision()))
  expect(namesOf((await api.call('GET', '/api/v1/services')).body)).toEqual(['a', 'b', 'c'])
})

test('lists, reads and updates wait for the cache to show what was written before them', async () => {
  const caches = lateCaches()
  const api = await startApi({ wrap: caches.wrap })
  caches.hold()
  await api.make(SERVICES, service('new'))
  const any = await api.call('GET', `${SERVICES}?resourceVersion=0`)
  expect(any.body['items']).toEqual([])
  const newest = api.call('GET', SERVICES)
  const one = api.call('GET', `${SERVICES}/new`)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const change = api.call('PATCH', `${SERVICES}/new`, { body: {}, headers })
  const watching = api.watch(`${SERVICES}?watch=1`)
  for (let trips = 0; trips < 20; trips++) await api.call('GET', '/livez')
  caches.release()
  expect(namesOf((await newest).body)).toEqual(['new'])
  expect([(await one).status, (await change).status]).toEqual([200, 200])
  const watch = await watching
  expect((await watch.next())?.type).toBe('ADDED')
  watch.close()
})

test('an empty list is a list', async () => {
  const api = await startApi()
  expect((await api.call('GET', SERVICES)).body['items']).toEqual([])
})

test('pages follow each other at one revision, whatever happens between them', async () => {
  const api = await startApi()
  await fill(api, 25)
  const names: string[] = []
  const revisions = new Set<unknown>()
  let next = ''
  do {
    const { status, body } = await api.call(
      'GET',
      `${PODS}?limit=10&continue=${encodeURIComponent(next)}`,
    )
    expect(status).toBe(200)
    names.push(...namesOf(body))
    revisions.add(valueAt(body, 'metadata', 'resourceVersion'))
    next = stringAt(body, 'metadata', 'continue')
    expect(valueAt(body, 'metadata', 'remainingItemCount')).toBe(
      next === '' ? undefined : 25 - names.length,
    )
    await api.call('DELETE', `${PODS}/p${String(names.length).padStart(3, '0')}`)
    await api.make(PODS, { metadata: { name: `p0${names.length}x` }, spec: POD })
  } while (next !== '')
  expect(names).toEqual(
    Array.from({ length: 25 }, (_, index) => `p${String(index).padStart(3, '0')}`),
  )
  expect(revisions.size).toBe(1)
})

test('pages of a selection are full and say nothing of what remains', async () => {
  const api = await startApi()
  await fill(api, 30)
  const names: string[] = []
  const sizes: number[] = []
  let next = ''
  do {
    const { body } = await api.call(
      'GET',
      `${PODS}?labelSelector=parity=odd&limit=4&continue=${next}`,
    )
    names.push(...namesOf(body))
    sizes.push(namesOf(body).length)
    expect(valueAt(body, 'metadata', 'remainingItemCount')).toBeUndefined()
    next = stringAt(body, 'metadata', 'continue')
  } while (next !== '')
  expect(sizes).toEqual([4, 4, 4, 3])
  expect(new Set(names).size).toBe(15)
})

test('an old continue token is 410 with one that carries on', async () => {
  const api = await startApi({ history: { historyRevisions: 5 } })
  await fill(api, 10)
  const first = (await api.call('GET', `${PODS}?limit=4`)).body
  for (let index = 0; index < 10; index++)
    await api.make(PODS, { metadata: { name: `q${index}` }, spec: POD })
  const token = stringAt(first, 'metadata', 'continue')
  const gone = await api.call('GET', `${PODS}?limit=4&continue=${token}`)
  expect([gone.status, gone.body['reason']]).toEqual([410, 'Expired'])
  const fresh = stringAt(gone.body, 'metadata', 'continue')
  const rest = await api.call('GET', `${PODS}?continue=${fresh}`)
  expect(namesOf(rest.body)).toHaveLength(16)
  expect(namesOf(rest.body)[0]).toBe('p004')
})

test.each([
  ['labelSelector=parity%3Dodd', ['p001', 'p003']],
  ['labelSelector=parity%20notin%20(odd)', ['p000', 'p002']],
  ['labelSelector=!parity', []],
  ['labelSelector=parity,!valueOf', ['p000', 'p001', 'p002', 'p003']],
  ['fieldSelector=metadata.name%3Dp002', ['p002']],
  ['fieldSelector=spec.nodeName%3Dn0,metadata.name!%3Dp000', ['p003']],
  ['fieldSelector=metadata.namespace%3Dother', []],
  ['fieldSelector=status.phase%3DPending&labelSelector=parity%3Deven', ['p000', 'p002']],
])('%s selects %j', async (query, names) => {
  const api = await startApi()
  await fill(api, 4)
  expect(namesOf((await api.call('GET', `${PODS}?${query}`)).body)).toEqual(names)
})

test('the selectors of proxies and printers work on Services and Events', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('plain'))
  await api.make(
    SERVICES,
    service(
      'headless',
      { clusterIP: 'None' },
      { labels: { 'service.kubernetes.io/headless': '' } },
    ),
  )
  const proxy = '!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name'
  const query = `labelSelector=${encodeURIComponent(proxy)}&limit=500&resourceVersion=0`
  expect(namesOf((await api.call('GET', `/api/v1/services?${query}`)).body)).toEqual(['plain'])
  expect(
    namesOf((await api.call('GET', `${SERVICES}?fieldSelector=spec.clusterIP!%3DNone`)).body),
  ).toEqual(['plain'])
  const events = '/api/v1/namespaces/default/events'
  const involvedObject = { kind: 'Service', name: 'plain', namespace: 'default', uid: 'u' }
  await api.make(events, { metadata: { name: 'e' }, involvedObject, reason: 'R', type: 'Normal' })
  const about =
    'involvedObject.name=plain,involvedObject.namespace=default,involvedObject.kind=Service,involvedObject.uid=u'
  expect(
    namesOf((await api.call('GET', `${events}?fieldSelector=${encodeURIComponent(about)}`)).body),
  ).toEqual(['e'])
})

test.each([
  ['limit=x', 400],
  ['continue=garbage', 400],
  ['continue=e30', 400],
  ['resourceVersion=abc', 400],
  ['resourceVersion=-1', 400],
  ['labelSelector=a%3D(', 400],
  ['labelSelector=a%20in%20b', 400],
  ['fieldSelector=spec.nope%3Dx', 400],
  ['fieldSelector=nonsense', 400],
  ['resourceVersionMatch=Exact', 422],
  ['resourceVersionMatch=Nearly&resourceVersion=1', 422],
  ['resourceVersionMatch=Exact&resourceVersion=0', 422],
])('%s is %i', async (query, status) => {
  const api = await startApi()
  expect((await api.call('GET', `${PODS}?${query}`)).status).toBe(status)
})

test('Exact lists an old revision, NotOlderThan a newer one, and a future one is 504', async () => {
  const api = await startApi({ limits: { futureRevisionTimeout: 20 } })
  await fill(api, 2)
  const revision = await api.store.revision()
  await api.make(PODS, { metadata: { name: 'late' }, spec: POD })
  const exact = await api.call(
    'GET',
    `${PODS}?resourceVersion=${revision}&resourceVersionMatch=Exact`,
  )
  expect(namesOf(exact.body)).toEqual(['p000', 'p001'])
  const newer = await api.call('GET', `${PODS}?resourceVersion=${revision}`)
  expect(namesOf(newer.body)).toEqual(['late', 'p000', 'p001'])
  const future = await api.call('GET', `${PODS}?resourceVersion=${revision + 100}`)
  expect(future.status).toBe(504)
  expect(future.body).toMatchObject({
    reason: 'Timeout',
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
  })
  await api.store.compact(revision + 1)
  const gone = await api.call(
    'GET',
    `${PODS}?resourceVersion=${revision}&resourceVersionMatch=Exact`,
  )
  expect(gone.status).toBe(410)
})

test('old clients see slices as v1beta1', async () => {
  const api = await startApi()
  const old = SLICES.replace('/v1/', '/v1beta1/')
  const endpoint = {
    addresses: ['10.1.0.1'],
    nodeName: 'n1',
    zone: 'z1',
    conditions: { ready: true },
  }
  await api.make(SLICES, {
    metadata: { name: 's' },
    addressType: 'IPv4',
    endpoints: [endpoint],
    ports: [{ port: 80 }],
  })
  const topology = { 'kubernetes.io/hostname': 'n1', 'topology.kubernetes.io/zone': 'z1' }
  const seen = { addresses: ['10.1.0.1'], nodeName: 'n1', topology, conditions: { ready: true } }
  expect((await api.call('GET', `${old}/s`)).body).toMatchObject({
    apiVersion: 'discovery.k8s.io/v1beta1',
    endpoints: [seen],
  })
  const { body } = await api.call('GET', old)
  expect(body).toMatchObject({
    apiVersion: 'discovery.k8s.io/v1beta1',
    items: [{ endpoints: [seen] }],
  })
  const sent = { addresses: ['10.1.0.2'], topology: { 'kubernetes.io/hostname': 'n2', rack: 'r' } }
  await api.make(old, {
    metadata: { name: 't' },
    addressType: 'IPv4',
    endpoints: [sent],
    ports: [],
  })
  expect((await api.call('GET', `${SLICES}/t`)).body['endpoints']).toEqual([
    { addresses: ['10.1.0.2'], nodeName: 'n2', deprecatedTopology: { rack: 'r' } },
  ])
})

test('a client that accepts a table gets one', async () => {
  const api = await startApi()
  await api.make(
    SERVICES,
    service('web', {
      type: 'NodePort',
      selector: { app: 'web' },
      ports: [{ port: 80, nodePort: 30080 }],
    }),
  )
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
  const { body } = await api.call('GET', SERVICES, { headers: { accept } })
  expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' })
  const columns = (body['columnDefinitions'] as JsonObject[]).map((column) => column['name'])
  expect(columns).toEqual([
    'Name',
    'Type',
    'Cluster-IP',
    'External-IP',
    'Port(s)',
    'Age',
    'Selector',
  ])
  const [row] = body['rows'] as JsonObject[]
  expect(row?.['cells']).toEqual([
    'web',
    'NodePort',
    expect.any(String),
    '<none>',
    '80:30080/TCP',
    expect.any(String),
    'app=web',
  ])
  expect(row?.['object']).toMatchObject({
    kind: 'PartialObjectMetadata',
    metadata: { name: 'web' },
  })
})

test.each([
  ['application/json', 200],
  ['*/*', 200],
  ['application/vnd.kubernetes.protobuf, application/json', 200],
  ['application/vnd.kubernetes.protobuf', 406],
  ['text/html', 406],
])('Accept: %s is %i', async (accept, status) => {
  const api = await startApi()
  expect((await api.call('GET', SERVICES, { headers: { accept } })).status).toBe(status)
})
