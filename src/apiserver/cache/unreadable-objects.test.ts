import { expect, test } from 'vitest'
import type { Store } from '../../storage/store.ts'
import { ENDPOINTS, PODS, SERVICES, service, startApi } from '../test-api.ts'

const KEY = '/services/default/theirs'
const THEIRS = Buffer.from('k8s\0\n\rsomebody else')

async function put(store: Store, value: Buffer): Promise<void> {
  await store.txn({ compare: [], operations: [{ op: 'put', key: KEY, value }] })
}

test('an object that cannot be read keeps its kind from being served, and no other', async () => {
  const errors: unknown[] = []
  const api = await startApi({ onError: (error) => errors.push(error) })
  await api.make(SERVICES, service('web'))
  await put(api.store, THEIRS)
  expect((await api.call('GET', PODS)).status).toBe(200)
  const listed = await api.call('GET', SERVICES)
  expect(listed).toMatchObject({ status: 500, body: { reason: 'InternalError' } })
  expect(listed.body['message']).toContain(JSON.stringify(KEY))
  expect((await api.call('POST', SERVICES, { body: service('other') })).status).toBe(500)
  await api.make('/api/v1/namespaces', { metadata: { name: 'a' } })
  await api.call('GET', PODS)
  const named = { code: 'NP_APISERVER_STORED_OBJECT', object: KEY }
  expect(errors).toEqual([expect.objectContaining(named)])
  const health = await api.call('GET', '/healthz/objects')
  expect([health.status, health.text]).toEqual([503, expect.stringContaining(KEY)])
  await api.store.txn({ compare: [], operations: [{ op: 'delete', key: KEY }] })
  expect((await api.call('GET', ENDPOINTS)).status).toBe(200)
  expect((await api.call('GET', SERVICES)).status).toBe(200)
  expect((await api.call('GET', '/healthz')).text).toBe('ok')
})

test.each(['5', 'null', '[]', '"text"'])('%s is no object', async (text) => {
  const api = await startApi({ onError: () => undefined })
  await put(api.store, Buffer.from(text))
  await api.call('GET', PODS)
  expect((await api.call('GET', SERVICES)).status).toBe(500)
})

test('a watch goes over what cannot be read', async () => {
  const api = await startApi({ onError: () => undefined })
  const made = await api.make(SERVICES, service('theirs'))
  const watch = await api.watch(`${SERVICES}?watch=1`)
  expect(await watch.next()).toMatchObject({
    type: 'ADDED',
    object: { metadata: { name: 'theirs' } },
  })
  const { metadata, spec } = made
  await put(api.store, THEIRS)
  await put(api.store, Buffer.from(JSON.stringify({ metadata, spec })))
  expect(await watch.next()).toMatchObject({ type: 'MODIFIED' })
  watch.close()
})

test('a list of the past that holds one says so', async () => {
  const api = await startApi({ onError: () => undefined })
  await put(api.store, THEIRS)
  const { revision } = await api.store.txn({
    compare: [],
    operations: [{ op: 'delete', key: KEY }],
  })
  await api.call('GET', PODS)
  const query = `resourceVersionMatch=Exact&resourceVersion=${revision - 1}&limit=5`
  const answer = await api.call('GET', `${SERVICES}?${query}`)
  expect([answer.status, answer.text]).toEqual([500, expect.stringContaining('something else')])
  expect((await api.call('GET', SERVICES)).status).toBe(200)
})
