import { request } from 'node:http'
import { expect, test } from 'vitest'
import { stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Store } from '../../storage/store.ts'
import { SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'

/** A server with one slot for each kind and level of requests, whose store holds lists back. */
async function narrow() {
  const clock = new FakeClock()
  const gates: (() => void)[] = []
  let isHeld = false
  const wrap = (store: Store): Store => ({
    ...store,
    list: async (query) => {
      if (isHeld) await new Promise<void>((resolve) => gates.push(resolve))
      return store.list(query)
    },
  })
  const api = await startApi({
    clock,
    wrap,
    limits: { requestsInFlight: 1, mutatingRequestsInFlight: 1 },
  })
  const { metadata } = await api.make(SERVICES, service('web'))
  isHeld = true
  const free = (): void => {
    isHeld = false
    for (const open of gates.splice(0)) open()
  }
  // Of a revision of the past only the store knows.
  const version = stringAt(metadata, 'resourceVersion')
  const path = `${SERVICES}?resourceVersion=${version}&resourceVersionMatch=Exact`
  const list = (headers = {}) => api.call('GET', path, { headers })
  return { api, clock, gates, free, list, path }
}

async function sample(api: TestApi, name: string): Promise<string | undefined> {
  const { text } = await api.call('GET', '/metrics')
  return text.split('\n').find((line) => line.startsWith(`apiserver_${name} `))
}

const READS = '{request_kind="readOnly"}'

test('a request that waits too long gets 429 with Retry-After, and is counted', async () => {
  const { api, clock, gates, free, list } = await narrow()
  const first = list()
  await expect.poll(() => gates.length).toBe(1)
  const second = list()
  await expect.poll(() => sample(api, `current_inqueue_requests${READS}`)).toMatch(/ 1$/)
  expect(await sample(api, `current_inflight_requests${READS}`)).toMatch(/ 1$/)
  expect((await api.call('GET', '/readyz')).status).toBe(200)
  await clock.advance(15_000)
  const refused = await second
  expect([refused.status, refused.body['reason']]).toEqual([429, 'TooManyRequests'])
  expect(refused.headers['retry-after']).toBe('1')
  const labels = '{request_kind="readOnly",priority_level="workload",reason="time-out"}'
  expect(await sample(api, `flowcontrol_rejected_requests_total${labels}`)).toMatch(/ 1$/)
  free()
  expect((await first).status).toBe(200)
  expect((await list()).status).toBe(200)
})

test('components of the cluster are served while other clients wait', async () => {
  const { gates, free, list } = await narrow()
  const first = list()
  await expect.poll(() => gates.length).toBe(1)
  const system = list({ 'user-agent': 'node-proxy/1.0' })
  await expect.poll(() => gates.length).toBe(2)
  free()
  expect([(await first).status, (await system).status]).toEqual([200, 200])
})

test('a watch keeps its slot until it has begun, and a client that goes releases its own', async () => {
  const { api, gates, free, list, path } = await narrow()
  const watches = [await api.watch(`${SERVICES}?watch=1`), await api.watch(`${SERVICES}?watch=1`)]
  expect(watches.map(({ status }) => status)).toEqual([200, 200])
  const gone = request(`${api.url}${path}`, { agent: false })
  gone.on('error', () => undefined)
  gone.end()
  await expect.poll(() => gates.length).toBe(1)
  gone.destroy()
  const ended = 'verb="LIST",group="",version="v1",resource="services",subresource="",code="200"'
  await expect.poll(() => sample(api, `request_total{${ended}}`)).toMatch(/ 1$/)
  free()
  expect((await list()).status).toBe(200)
  for (const watch of watches) watch.close()
})
