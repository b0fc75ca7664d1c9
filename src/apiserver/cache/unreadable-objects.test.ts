import { expect, onTestFinished, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { Store } from '../../storage/store.ts'
import { addressKey } from '../allocation/allocation-keys.ts'
import { createApiServer } from '../api-server.ts'
import { ENDPOINTS, PODS, SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'

const KEY = '/services/default/theirs'
const THEIRS = Buffer.from('k8s\0\n\ranother program')
const NAMESPACES = '/api/v1/namespaces'

async function put(store: Store, value: Buffer, key = KEY): Promise<number> {
  return (await store.txn({ compare: [], operations: [{ op: 'put', key, value }] })).revision
}

/** A server with a readable Service beside one that is not, and what operators read. */
async function withUnreadable() {
  const errors: unknown[] = []
  const records: { readonly fields: object; readonly message: string }[] = []
  const record = (fields: object, message: string) => void records.push({ fields, message })
  const log = { info: record, warn: record } as never
  const api = await startApi({ onError: (error) => errors.push(error), log })
  await api.make(SERVICES, service('web'))
  const revision = await put(api.store, THEIRS)
  return { api, errors, records, revision }
}

async function names(api: TestApi, path: string): Promise<readonly string[]> {
  const { body } = await api.call('GET', path)
  return arrayAt(body, 'items').map((item) => stringAt(item, 'metadata', 'name'))
}

async function metric(api: TestApi, line: string): Promise<string | undefined> {
  const { text } = await api.call('GET', '/metrics')
  return text
    .split('\n')
    .find((one) => one.startsWith(`${line} `))
    ?.slice(line.length + 1)
}

test('other objects of its kind are served, and the object that cannot be read is named everywhere', async () => {
  const { api, errors, records } = await withUnreadable()
  expect(await names(api, SERVICES)).toEqual(['web'])
  const listed = await api.call('GET', SERVICES)
  expect(String(listed.headers['warning'])).toContain(KEY)
  const got = await api.call('GET', `${SERVICES}/theirs`)
  expect(got).toMatchObject({ status: 500, body: { kind: 'Status', reason: 'InternalError' } })
  expect(stringAt(got.body, 'message')).toMatch(/"\/services\/default\/theirs".*delete the object/)
  for (const method of ['PUT', 'PATCH']) {
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
    const options = { body: { ...service('theirs'), kind: 'Service', apiVersion: 'v1' }, headers }
    expect((await api.call(method, `${SERVICES}/theirs`, options)).status).toBe(500)
  }
  await api.make(SERVICES, service('other'))
  expect((await api.call('POST', SERVICES, { body: service('theirs') })).status).toBe(409)
  expect(errors).toEqual([
    expect.objectContaining({ code: 'NP_APISERVER_STORED_OBJECT', object: KEY }),
  ])
  expect(records.map(({ message }) => message).join()).toContain(KEY)
  const health = await api.call('GET', '/readyz')
  expect([health.status, health.text]).toEqual([200, expect.stringContaining(KEY)])
  expect(await metric(api, 'apiserver_storage_unreadable_objects{resource="services"}')).toBe('1')
  expect(await metric(api, 'apiserver_conditions{reason="unreadable-objects"}')).toBe('1')
})

test('it is deleted by name without being read, and a record says what was discarded', async () => {
  const { api, records, revision } = await withUnreadable()
  const held = addressKey('10.96.9.9')
  await put(api.store, Buffer.from(JSON.stringify({ owner: KEY })), held)
  const dry = await api.call('DELETE', `${SERVICES}/theirs?dryRun=All`)
  expect([dry.status, await api.store.get(KEY)]).toEqual([200, expect.anything()])
  const deleted = await api.call('DELETE', `${SERVICES}/theirs`)
  expect(deleted).toMatchObject({
    status: 200,
    body: { kind: 'Status', status: 'Success', details: { name: 'theirs', kind: 'services' } },
  })
  expect([await api.store.get(KEY), await api.store.get(held)]).toEqual([undefined, undefined])
  expect(records.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ key: KEY, revision }),
  )
  expect((await api.call('GET', `${SERVICES}/theirs`)).status).toBe(404)
  expect((await api.call('GET', '/readyz')).text).toBe('ok')
  expect(await metric(api, 'apiserver_conditions{reason="unreadable-objects"}')).toBe('0')
})

test.each([
  [{ preconditions: { uid: 'x' } }, /its uid cannot be compared/],
  [{ preconditions: { resourceVersion: '1' } }, /has been modified/],
  [{ propagationPolicy: 'Orphan' }, /dependents cannot be left behind/],
])('a deletion that depends on what it says is refused: %j', async (options, message) => {
  const { api } = await withUnreadable()
  const refused = await api.call('DELETE', `${SERVICES}/theirs`, { body: options as JsonObject })
  expect([refused.status, refused.body['message']]).toEqual([409, expect.stringMatching(message)])
  expect(await api.store.get(KEY)).toBeDefined()
})

test('the version that is stored may be the precondition', async () => {
  const { api, revision } = await withUnreadable()
  const body = { preconditions: { resourceVersion: String(revision) } }
  expect((await api.call('DELETE', `${SERVICES}/theirs`, { body })).status).toBe(200)
})

test('a collection without selectors is deleted with it, one with selectors is not', async () => {
  const { api } = await withUnreadable()
  await put(api.store, THEIRS, '/endpoints/default/theirs')
  const selected = await api.call('DELETE', `${ENDPOINTS}?labelSelector=a=b`)
  expect(selected.status).toBe(200)
  expect(await api.store.get('/endpoints/default/theirs')).toBeDefined()
  expect((await api.call('DELETE', ENDPOINTS)).status).toBe(200)
  expect(await api.store.get('/endpoints/default/theirs')).toBeUndefined()
})

test.each([
  ['5', 'not a JSON object'],
  ['null', 'not a JSON object'],
  ['[]', 'not a JSON object'],
  ['"text"', 'not a JSON object'],
  ['{"kind":"Service","metadata":{"name":"theirs"}}', 'not in the form'],
  [
    '{"metadata":{"name":"another","namespace":"default"}}',
    'its namespace and name are not those of its key',
  ],
  [
    '{"metadata":{"name":"theirs","namespace":"other"}}',
    'its namespace and name are not those of its key',
  ],
])('%s cannot be read', async (text, cause) => {
  const api = await startApi({ onError: () => undefined })
  await put(api.store, Buffer.from(text))
  expect((await api.call('GET', `${SERVICES}/theirs`)).text).toContain(cause)
  expect(await names(api, SERVICES)).toEqual([])
})

test('what is no UTF-8, or not what the store was given, cannot be read', async () => {
  const good = JSON.stringify({ metadata: { name: 'theirs', namespace: 'default' } })
  const bad = Buffer.from(good.replace('}}', ',"labels":{"a":"\u00e9"}}}'), 'latin1')
  const damagedIn = (store: Store): Store => ({
    ...store,
    watch: (query) => store.watch(query),
    list: async (query) => {
      const page = await store.list(query)
      if (page.refused !== undefined) return page
      const entries = page.entries.map((one) => ({ ...one, ...(one.key === KEY && DAMAGED) }))
      return { ...page, entries }
    },
  })
  const api = await startApi({ onError: () => undefined })
  await put(api.store, bad)
  expect((await api.call('GET', `${SERVICES}/theirs`)).text).toContain('UTF-8')
  await put(api.store, Buffer.from(good))
  expect((await api.call('GET', `${SERVICES}/theirs`)).status).toBe(200)
  await api.store.compact(await api.store.revision())
  const second = createApiServer({ store: damagedIn(api.store) })
  onTestFinished(() => second.close())
  const { url } = await second.listen()
  const answer = await fetch(`${url}${SERVICES}/theirs`)
  expect([answer.status, await answer.text()]).toEqual([
    500,
    expect.stringContaining('not the one that was written'),
  ])
})

const DAMAGED = { damaged: true } as const

test('a watch shows what a list shows: what cannot be read any more is gone, and comes back', async () => {
  const api = await startApi({ onError: () => undefined })
  const made = await api.make(SERVICES, service('theirs'))
  const watch = await api.watch(`${SERVICES}?watch=1`)
  expect(await watch.next()).toMatchObject({
    type: 'ADDED',
    object: { metadata: { name: 'theirs' } },
  })
  const { metadata, spec } = made
  await put(api.store, THEIRS)
  expect(await watch.next()).toMatchObject({ type: 'DELETED' })
  await put(api.store, Buffer.from(JSON.stringify({ metadata, spec })))
  expect(await watch.next()).toMatchObject({ type: 'ADDED' })
  watch.close()
})

test('a list of the past leaves it out and warns', async () => {
  const { api, revision } = await withUnreadable()
  await api.call('DELETE', `${SERVICES}/theirs`)
  await api.call('GET', PODS)
  const query = `resourceVersionMatch=Exact&resourceVersion=${revision}&limit=1`
  const answer = await api.call('GET', `${SERVICES}?${query}`)
  expect(answer.status).toBe(200)
  const found = arrayAt(answer.body, 'items').map((item) => stringAt(item, 'metadata', 'name'))
  expect([found, stringAt(answer.body, 'metadata', 'continue')]).toEqual([['web'], ''])
  expect(String(answer.headers['warning'])).toContain(KEY)
})

test('a namespace that is being deleted goes with what cannot be read in it', async () => {
  const { api } = await withUnreadable()
  await api.make(NAMESPACES, { metadata: { name: 'a' } })
  await put(api.store, THEIRS, '/configmaps/a/lost')
  const closed = await api.call('DELETE', `${NAMESPACES}/a`)
  expect(valueAt(closed.body, 'status', 'phase')).toBe('Terminating')
  const finalized = { ...closed.body, spec: { finalizers: [] } }
  const path = `${NAMESPACES}/a/finalize`
  expect((await api.call('PUT', `${path}?dryRun=All`, { body: finalized })).status).toBe(409)
  expect((await api.call('PUT', path, { body: finalized })).status).toBe(200)
  expect((await api.call('GET', `${NAMESPACES}/a`)).status).toBe(404)
  expect(await api.store.get('/configmaps/a/lost')).toBeUndefined()
})

test('a namespace that cannot be read is closed by its deletion, one of the system begins anew', async () => {
  const { api } = await withUnreadable()
  await api.make(NAMESPACES, { metadata: { name: 'a' } })
  await api.make(`${NAMESPACES}/a/configmaps`, { metadata: { name: 'kept' } })
  for (const name of ['a', 'default']) {
    await put(api.store, THEIRS, `/namespaces/${name}`)
    const refused = await api.call('POST', `${NAMESPACES}/${name}/configmaps`, {
      body: { metadata: { name: 'new' } },
    })
    expect([refused.status, refused.text]).toEqual([
      500,
      expect.stringContaining(`/namespaces/${name}`),
    ])
    expect((await api.call('DELETE', `${NAMESPACES}/${name}`)).status).toBe(200)
  }
  const phase = async (name: string) =>
    valueAt((await api.call('GET', `${NAMESPACES}/${name}`)).body, 'status', 'phase')
  expect([await phase('a'), await phase('default')]).toEqual(['Terminating', 'Active'])
  await api.make(SERVICES, service('again'))
})

test('no load balancer gets an address that a Service may have which cannot be read', async () => {
  const { api } = await withUnreadable()
  await api.make(SERVICES, service('lb', { type: 'LoadBalancer' }))
  const patch = () =>
    api.call('PATCH', `${SERVICES}/lb/status`, {
      body: { status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  const refused = await patch()
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(KEY)])
  await api.call('DELETE', `${SERVICES}/theirs`)
  expect((await patch()).status).toBe(200)
})
