import { expect, onTestFinished, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, valueAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Store } from '../../storage/store.ts'
import { createApiServer } from '../api-server.ts'
import {
  ENDPOINTS,
  SERVICES,
  SLICES,
  service,
  startApi,
  type TestApi,
} from '../testing/test-api.ts'

const HERE = { address: '192.0.2.1', port: 6443 }
const THERE = { address: '192.0.2.2', port: 6443 }
const ROUND_MS = 10_000

async function started(at = HERE, options = {}) {
  const clock = new FakeClock()
  const api = await startApi({ clock, ...options })
  const advertisement = api.server.advertise(at)
  onTestFinished(() => advertisement.stop())
  await expect.poll(() => status(api, `${ENDPOINTS}/orch`)).toBe(200)
  return { api, clock, advertisement }
}

async function status(api: TestApi, path: string): Promise<number> {
  return (await api.call('GET', path)).status
}

async function read(api: TestApi, path: string): Promise<JsonObject> {
  return (await api.call('GET', path)).body
}

async function addresses(api: TestApi): Promise<readonly unknown[]> {
  const [subset] = arrayAt(await read(api, `${ENDPOINTS}/kubernetes`), 'subsets')
  return arrayAt(subset, 'addresses').map((one) => valueAt(one, 'ip'))
}

test('both Services of the API have the first addresses of the range, and this server as endpoint', async () => {
  const { api } = await started()
  for (const [name, clusterIP] of [
    ['kubernetes', '10.96.0.1'],
    ['orch', '10.96.0.2'],
  ] as const) {
    await expect.poll(() => status(api, `${SLICES}/${name}`)).toBe(200)
    expect(await read(api, `${SERVICES}/${name}`)).toMatchObject({
      metadata: { labels: { component: 'apiserver', provider: name } },
      spec: { clusterIP, ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
    })
    expect(await read(api, `${ENDPOINTS}/${name}`)).toMatchObject({
      metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
      subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443 }] }],
    })
    expect(await read(api, `${SLICES}/${name}`)).toMatchObject({
      metadata: { labels: { 'kubernetes.io/service-name': name } },
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
      ports: [{ name: 'https', port: 6443 }],
    })
  }
})

test('a round without changes writes nothing but the key of the server', async () => {
  const { api, clock } = await started()
  await expect.poll(() => status(api, `${SLICES}/orch`)).toBe(200)
  const before = await api.store.revision()
  await clock.advance(ROUND_MS)
  await expect.poll(() => api.store.revision()).toBe(before + 1)
})

test('deleted or changed objects are corrected at once', async () => {
  const { api } = await started()
  await expect.poll(() => status(api, `${SLICES}/orch`)).toBe(200)
  for (const path of [`${SERVICES}/kubernetes`, `${ENDPOINTS}/orch`, `${SLICES}/kubernetes`]) {
    await api.call('DELETE', path)
    await expect.poll(() => status(api, path)).toBe(200)
  }
  const address = valueAt(await read(api, `${SERVICES}/kubernetes`), 'spec', 'clusterIP')
  expect(address).toBe('10.96.0.1')
  const slice = await read(api, `${SLICES}/orch`)
  await api.call('PUT', `${SLICES}/orch`, { body: { ...slice, endpoints: [] } })
  const endpoints = async () => arrayAt(await read(api, `${SLICES}/orch`), 'endpoints').length
  await expect.poll(endpoints).toBe(1)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const spec = { type: 'ExternalName', externalName: 'example.org', clusterIP: null }
  await api.call('PATCH', `${SERVICES}/orch`, { body: { spec }, headers })
  const type = async () => objectAt(await read(api, `${SERVICES}/orch`), 'spec')
  await expect.poll(type).toMatchObject({ type: 'ClusterIP', clusterIP: '10.96.0.2' })
})

test('after ten corrections, an object that a client deletes again is corrected in the next round', async () => {
  const { api, clock } = await started()
  await expect.poll(() => status(api, `${SLICES}/orch`)).toBe(200)
  for (let time = 0; time < 10; time++) {
    await api.call('DELETE', `${SLICES}/orch`)
    await expect.poll(() => status(api, `${SLICES}/orch`)).toBe(200)
  }
  await api.call('DELETE', `${SLICES}/orch`)
  for (let time = 0; time < 10; time++) await api.make(SERVICES, service(`later-${time}`))
  expect(await status(api, `${SLICES}/orch`)).toBe(404)
  await clock.advance(ROUND_MS)
  await expect.poll(() => status(api, `${SLICES}/orch`)).toBe(200)
})

test('EndpointSlices of other writers for these Services are removed in the next round', async () => {
  const { api, clock } = await started()
  const labels = { 'kubernetes.io/service-name': 'kubernetes' }
  const endpoints = [{ addresses: ['192.0.2.66'] }]
  const hijack = { metadata: { name: 'evil', labels }, addressType: 'IPv4', endpoints }
  await api.make(SLICES, hijack)
  await clock.advance(ROUND_MS)
  await expect.poll(() => status(api, `${SLICES}/evil`)).toBe(404)
})

test('a server on the loopback address is in no endpoints, and the advertisement has the reason', async () => {
  const { api, advertisement } = await started({ address: '127.0.0.1', port: 6443 })
  expect(advertisement.unreachable).toBe('127.0.0.1 can only be reached from this machine')
  await expect.poll(() => status(api, `${SERVICES}/orch`)).toBe(200)
  expect(await read(api, `${ENDPOINTS}/kubernetes`)).not.toHaveProperty('subsets')
  expect(arrayAt(await read(api, SLICES), 'items')).toEqual([])
})

test('replicas share the endpoints; one that stops leaves at once, one that is gone after four rounds', async () => {
  const { api, clock } = await started()
  const other = createApiServer({ store: api.store, clock })
  await other.listen()
  onTestFinished(() => other.close())
  const second = other.advertise(THERE)
  await expect.poll(() => addresses(api)).toEqual(['192.0.2.1', '192.0.2.2'])
  await second.stop()
  expect(await addresses(api)).toEqual(['192.0.2.1'])
  const dead = { ip: '192.0.2.3', port: 7443 }
  const key = '/masters/192.0.2.3/7443'
  const value = Buffer.from(JSON.stringify(dead))
  await api.store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
  await clock.advance(ROUND_MS)
  await expect.poll(() => status(api, `${SLICES}/kubernetes-7443`)).toBe(200)
  expect(arrayAt(await read(api, `${ENDPOINTS}/orch`), 'subsets')).toHaveLength(2)
  for (let round = 0; round < 4; round++) {
    const before = await api.store.revision()
    await clock.advance(ROUND_MS)
    await expect.poll(() => api.store.revision()).toBeGreaterThan(before)
  }
  await expect.poll(() => status(api, `${SLICES}/kubernetes-7443`)).toBe(404)
  expect(await addresses(api)).toEqual(['192.0.2.1'])
  await api.store.txn({ compare: [], operations: [{ op: 'delete', key }] })
})

test('rounds that a slow store delays do not remove other servers', async () => {
  const hold = { until: Promise.resolve() }
  const { api, clock } = await started(HERE, {
    wrap: (store: Store): Store => ({
      ...store,
      list: async (query) => {
        if (query.prefix === '/masters/') await hold.until
        return store.list(query)
      },
    }),
  })
  const key = '/masters/192.0.2.2/6443'
  const value = Buffer.from(JSON.stringify({ ip: '192.0.2.2', port: 6443 }))
  await api.store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
  const { promise, resolve } = Promise.withResolvers<void>()
  hold.until = promise
  for (let round = 0; round < 8; round++) await clock.advance(ROUND_MS)
  resolve()
  await expect.poll(() => addresses(api)).toEqual(['192.0.2.1', '192.0.2.2'])
  const settled = async (): Promise<number> => {
    const { modRevision = 0 } = (await api.store.get('/masters/192.0.2.1/6443')) ?? {}
    return modRevision
  }
  const before = await settled()
  await clock.advance(ROUND_MS)
  await expect.poll(settled).toBeGreaterThan(before)
  expect(await api.store.get(key)).toBeDefined()
  await api.store.txn({ compare: [], operations: [{ op: 'delete', key }] })
})

test('an address that another Service has is reported once, and taken when it is free', async () => {
  const errors: unknown[] = []
  const clock = new FakeClock()
  const api = await startApi({ clock, onError: (error: unknown) => errors.push(error) })
  await api.make(SERVICES, service('squatter', { clusterIP: '10.96.0.1' }))
  const advertisement = api.server.advertise(HERE)
  onTestFinished(() => advertisement.stop())
  await expect.poll(() => errors).toHaveLength(1)
  expect(errors[0]).toMatchObject({
    code: 'NP_APISERVER_MASTER_SERVICE',
    object: 'default/kubernetes',
    message: expect.stringContaining('provided IP is already allocated'),
  })
  expect(await status(api, `${SLICES}/orch`)).toBe(200)
  const before = await api.store.revision()
  await clock.advance(ROUND_MS)
  await expect.poll(() => api.store.revision()).toBeGreaterThan(before)
  await api.call('DELETE', `${SERVICES}/squatter`)
  await clock.advance(ROUND_MS)
  await expect.poll(() => status(api, `${SERVICES}/kubernetes`)).toBe(200)
  expect(errors).toHaveLength(1)
})
