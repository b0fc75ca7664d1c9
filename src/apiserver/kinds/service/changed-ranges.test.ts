import { expect, onTestFinished, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../../lib/json.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { addressKey } from '../../allocation/allocation-keys.ts'
import { type ApiServerOptions, createApiServer } from '../../api-server.ts'
import {
  postTo,
  SERVICES,
  SLICES,
  service,
  startApi,
  type TestApi,
} from '../../testing/test-api.ts'

const NEW = { serviceAddressRanges: ['10.97.0.0/16'] }
const HERE = { address: '192.0.2.1', port: 6443 }

/** Another server on the store, which keeps the Services of the API, and what it logged. */
async function another(api: TestApi, options: Partial<ApiServerOptions>) {
  const records: string[] = []
  const errors: unknown[] = []
  const record = (_: object, message: string) => void records.push(message)
  const clock = new FakeClock()
  const server = createApiServer({
    store: api.store,
    clock,
    log: { info: record, warn: record } as never,
    onError: (error) => errors.push(error),
    ...options,
  })
  onTestFinished(() => server.close())
  const { url } = await server.listen()
  // Its answers end their connections: none is open when the server closes.
  server.drain()
  const read = async (path: string): Promise<JsonObject> =>
    (await (await fetch(`${url}${path}`)).json()) as JsonObject
  const text = async (path: string) => (await fetch(`${url}${path}`)).text()
  const advertise = () => {
    const advertisement = server.advertise(HERE)
    onTestFinished(() => advertisement.stop())
  }
  return { server, url, read, text, records, errors, clock, advertise }
}

async function addressOf(
  { read }: { readonly read: (path: string) => Promise<JsonObject> },
  name: string,
): Promise<string> {
  return stringAt(await read(`${SERVICES}/${name}`), 'spec', 'clusterIP')
}

test('Services outside of changed ranges are served, and named at the start', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('old', { clusterIP: '10.96.0.10' }))
  const ports = [{ port: 80, nodePort: 30_080 }]
  await api.make(SERVICES, service('port', { type: 'NodePort', ports }))
  const second = await another(api, { ...NEW, nodePortRange: { first: 31_000, last: 32_000 } })
  const logged = second.records.join('\n')
  expect(logged).toMatch(/2 Services have ClusterIPs outside.*10\.97\.0\.0\/16.*"default\/old"/)
  expect(logged).toMatch(/1 Services have node ports outside.*31000-32000.*"default\/port"/)
  const metrics = await second.text('/metrics')
  expect(metrics).toContain('apiserver_services_outside_range{kind="address"} 2')
  expect(metrics).toContain('apiserver_services_outside_range{kind="port"} 1')
  expect(metrics).toContain('apiserver_conditions{reason="cluster-ips-outside-range"} 1')
  expect(await second.text('/readyz')).toContain('"default/old"')
  const events = await second.read('/api/v1/namespaces/default/events')
  const reasons = arrayAt(events, 'items').map((one) => stringAt(one, 'reason'))
  expect(reasons.toSorted()).toEqual([
    'ClusterIPOutOfRange',
    'ClusterIPOutOfRange',
    'PortOutOfRange',
  ])
  const changed = await fetch(`${second.url}${SERVICES}/port`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { labels: { a: 'b' } } }),
  })
  expect(changed.status).toBe(200)
  expect(await addressOf(second, 'old')).toBe('10.96.0.10')
})

test('a Service whose family has no range any more can be changed, and keeps its addresses', async () => {
  const api = await startApi({ serviceAddressRanges: ['10.96.0.0/16', 'fd00:96::/112'] })
  const dual = await api.make(SERVICES, service('dual', { ipFamilyPolicy: 'RequireDualStack' }))
  const headless = { clusterIP: 'None', ipFamilyPolicy: 'RequireDualStack', selector: { a: 'b' } }
  await api.make(SERVICES, service('headless', headless))
  for (const ranges of [['10.96.0.0/16'], ['fd00:97::/112']]) {
    const second = await another(api, { serviceAddressRanges: ranges })
    for (const name of ['dual', 'headless']) {
      const { status } = await fetch(`${second.url}${SERVICES}/${name}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ metadata: { labels: { range: 'changed' } } }),
      })
      expect([name, status]).toEqual([name, 200])
    }
    expect(valueAt(await second.read(`${SERVICES}/dual`), 'spec', 'clusterIPs')).toEqual(
      valueAt(dual, 'spec', 'clusterIPs'),
    )
  }
})

test('the Services of the API move into the changed range', async () => {
  const api = await startApi()
  const first = await another(api, {})
  first.advertise()
  await expect.poll(() => addressOf(first, 'orch')).toBe('10.96.0.2')
  const before = valueAt(await first.read(`${SERVICES}/kubernetes`), 'metadata', 'uid')
  await first.server.close()
  const second = await another(api, NEW)
  second.advertise()
  await expect.poll(() => addressOf(second, 'kubernetes')).toBe('10.97.0.1')
  await expect.poll(() => addressOf(second, 'orch')).toBe('10.97.0.2')
  expect(valueAt(await second.read(`${SERVICES}/kubernetes`), 'metadata', 'uid')).not.toBe(before)
  expect(await api.store.get(addressKey('10.96.0.1'))).toBeUndefined()
  expect(await api.store.get(addressKey('10.97.0.1'))).toBeDefined()
  expect(second.records.join()).toContain('moves into the changed range')
  expect(second.errors).toEqual([])
})

test('they move within a range that begins elsewhere now, for the certificate names its first addresses', async () => {
  const api = await startApi()
  const first = await another(api, { serviceAddressRanges: ['10.96.8.0/24'] })
  first.advertise()
  await expect.poll(() => addressOf(first, 'orch')).toBe('10.96.8.2')
  const second = await another(api, {})
  second.advertise()
  await expect.poll(() => addressOf(second, 'kubernetes')).toBe('10.96.0.1')
})

test('they stay where they are while their new address is taken', async () => {
  const api = await startApi()
  const first = await another(api, {})
  first.advertise()
  await expect.poll(() => addressOf(first, 'orch')).toBe('10.96.0.2')
  const second = await another(api, NEW)
  await postTo(`${second.url}${SERVICES}`, service('taker', { clusterIP: '10.97.0.1' }))
  second.advertise()
  await expect
    .poll(() => second.errors)
    .toEqual([expect.objectContaining({ code: 'NP_APISERVER_MASTER_SERVICE' })])
  expect(await addressOf(second, 'kubernetes')).toBe('10.96.0.1')
  expect(await second.text('/readyz')).toContain('kubernetes at 10.96.0.1')
  await fetch(`${second.url}${SERVICES}/taker`, { method: 'DELETE' })
  await second.clock.advance(10_000)
  await expect.poll(() => addressOf(second, 'kubernetes')).toBe('10.97.0.1')
})

test('while their new address is taken, their endpoints are those of the running servers', async () => {
  const api = await startApi()
  const first = await another(api, {})
  first.advertise()
  await expect.poll(() => addressOf(first, 'orch')).toBe('10.96.0.2')
  await first.server.close()
  const second = await another(api, NEW)
  await postTo(`${second.url}${SERVICES}`, service('taker', { clusterIP: '10.97.0.1' }))
  second.advertise()
  await expect.poll(() => second.errors).toHaveLength(1)
  const slice = await second.read(`${SLICES}/kubernetes`)
  expect(arrayAt(slice, 'endpoints')).toMatchObject([{ addresses: [HERE.address] }])
})

test('of replicas with different ranges the one that started last decides, and the other says so', async () => {
  const api = await startApi()
  const first = await another(api, {})
  first.advertise()
  await expect.poll(() => addressOf(first, 'orch')).toBe('10.96.0.2')
  const second = await another(api, NEW)
  second.advertise()
  await expect.poll(() => addressOf(first, 'orch')).toBe('10.97.0.2')
  for (let round = 0; round < 3; round++) {
    await first.clock.advance(10_000)
    await second.clock.advance(10_000)
    expect(await addressOf(first, 'kubernetes')).toBe('10.97.0.1')
  }
  await expect.poll(() => first.records.join()).toContain('kubernetes at 10.97.0.1')
  const metrics = await first.text('/metrics')
  expect(metrics).toContain('apiserver_conditions{reason="api-service-address"} 1')
  expect(second.records.join()).not.toContain('kubernetes at')
})
