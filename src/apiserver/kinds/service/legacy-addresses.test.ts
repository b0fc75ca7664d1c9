import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../lib/json.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { addressKey } from '../../allocation/allocation-keys.ts'
import { ENDPOINTS, SERVICES, service, startApi, type TestApi } from '../../testing/test-api.ts'

const OLD_IP = '010.96.0.10'
const IP = '10.96.0.10'
const RANGES = ['010.0.0.0/08']
const PERIOD_MS = 180_000
const MERGE = { 'content-type': 'application/merge-patch+json' }

/** A server whose store has a Service from before leading zeros were refused. */
async function started() {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  await api.make(
    SERVICES,
    service('old', {
      type: 'LoadBalancer',
      clusterIP: IP,
      externalIPs: ['203.0.113.7'],
      loadBalancerSourceRanges: ['10.0.0.0/8'],
    }),
  )
  await edit(api, '/services/default/old', (object) => ({
    ...object,
    spec: {
      ...objectAt(object, 'spec'),
      clusterIP: OLD_IP,
      clusterIPs: [OLD_IP],
      externalIPs: ['203.0.113.007'],
      loadBalancerSourceRanges: RANGES,
    },
  }))
  return { api, clock }
}

async function edit(api: TestApi, key: string, change: (object: JsonObject) => JsonObject) {
  const entry = await api.store.get(key)
  const object = JSON.parse(entry!.value.toString()) as JsonObject
  const value = Buffer.from(JSON.stringify(change(object)))
  await api.store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
}

const read = async (api: TestApi): Promise<JsonObject> =>
  (await api.call('GET', `${SERVICES}/old`)).body

test('it is read, listed and watched as it is', async () => {
  const { api } = await started()
  const watch = await api.watch(`${SERVICES}?watch=true&resourceVersion=0`)
  const [event] = await watch.take(1)
  const [listed] = arrayAt((await api.call('GET', SERVICES)).body, 'items')
  for (const object of [await read(api), listed, event?.object]) {
    expect(valueAt(object, 'spec', 'clusterIPs')).toEqual([OLD_IP])
    expect(valueAt(object, 'spec', 'externalIPs')).toEqual(['203.0.113.007'])
  }
  watch.close()
})

test('it is changed without a change of its addresses', async () => {
  const { api } = await started()
  const body = { metadata: { labels: { a: 'b' } }, spec: { ports: [{ port: 81 }] } }
  const patched = await api.call('PATCH', `${SERVICES}/old`, { headers: MERGE, body })
  expect([patched.status, valueAt(patched.body, 'spec', 'clusterIPs')]).toEqual([200, [OLD_IP]])
  const put = await api.call('PUT', `${SERVICES}/old`, { body: await read(api) })
  expect([put.status, valueAt(put.body, 'spec', 'loadBalancerSourceRanges')]).toEqual([200, RANGES])
  const status = { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } }
  const path = `${SERVICES}/old/status`
  expect((await api.call('PATCH', path, { headers: MERGE, body: { status } })).status).toBe(200)
  expect(stringAt(await read(api), 'spec', 'clusterIP')).toBe(OLD_IP)
})

test('it is put right by the same addresses in canonical text, and by no others', async () => {
  const { api } = await started()
  const right = { clusterIP: IP, clusterIPs: [IP], externalIPs: ['203.0.113.7'] }
  const others = [
    { clusterIP: '10.96.0.11', clusterIPs: ['10.96.0.11'] },
    { externalIPs: ['203.0.113.007', '203.0.113.008'] },
    { loadBalancerSourceRanges: ['10.0.0.0/08'] },
  ]
  for (const spec of others) {
    const answer = await api.call('PATCH', `${SERVICES}/old`, { headers: MERGE, body: { spec } })
    expect(answer.status).toBe(422)
  }
  const spec = { ...right, loadBalancerSourceRanges: ['10.0.0.0/8'] }
  const answer = await api.call('PATCH', `${SERVICES}/old`, { headers: MERGE, body: { spec } })
  expect([answer.status, objectAt(answer.body, 'spec')]).toMatchObject([200, spec])
})

test('new ones are refused', async () => {
  const { api } = await started()
  for (const spec of [{ clusterIP: '010.96.0.11' }, { externalIPs: ['203.0.113.008'] }]) {
    const answer = await api.call('POST', SERVICES, { body: service('new', spec) })
    expect([answer.status, answer.text]).toEqual([
      422,
      expect.stringContaining('must not have leading zeros: write '),
    ])
  }
})

test('no other Service gets its address, and deletion frees it', async () => {
  const { api, clock } = await started()
  const thief = () => api.call('POST', SERVICES, { body: service('new', { clusterIP: IP }) })
  expect((await thief()).status).toBe(422)
  await api.store.txn({ compare: [], operations: [{ op: 'delete', key: addressKey(IP) }] })
  await clock.advance(PERIOD_MS)
  await expect.poll(() => api.store.get(addressKey(IP))).toBeDefined()
  expect((await thief()).status).toBe(422)
  await api.call('DELETE', `${SERVICES}/old`)
  expect((await thief()).status).toBe(201)
})

test('Endpoints with such an address can be changed, and show it', async () => {
  const { api } = await started()
  const subsets = [{ addresses: [{ ip: '10.1.0.1' }], ports: [{ port: 80 }] }]
  await api.make(ENDPOINTS, { metadata: { name: 'old' }, subsets })
  const old = [{ addresses: [{ ip: '010.1.0.1' }], ports: [{ port: 80 }] }]
  await edit(api, '/endpoints/default/old', (object) => ({ ...object, subsets: old }))
  const body = { metadata: { labels: { a: 'b' } } }
  const answer = await api.call('PATCH', `${ENDPOINTS}/old`, { headers: MERGE, body })
  expect([answer.status, valueAt(answer.body, 'subsets')]).toMatchObject([200, old])
})
