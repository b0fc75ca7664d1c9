import { expect, test } from 'vitest'
import { startApi } from '../apiserver/testing/test-api.ts'
import { connectionTo } from '../client/connection/load-connection.ts'
import { createApiClient } from '../client/http/api-client.ts'
import { eventually } from '../client/testing/eventually.ts'
import { systemClock } from '../lib/clock.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../lib/json.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { Registration } from './node-registration.ts'

const NODE = {
  nodeName: 'node-a',
  addresses: ['192.0.2.10' as IpAddress],
  podCIDRs: ['10.244.0.0/24' as Cidr],
  labels: { disk: 'fast' },
  maxPods: 5,
}
const PATH = '/api/v1/nodes/node-a'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-a'

async function stage() {
  const api = await startApi()
  const client = createApiClient({
    connection: connectionTo(api.url),
    clock: systemClock,
    userAgent: 'test',
  })
  const clock = new FakeClock()
  const errors: unknown[] = []
  const reporter = { failed: (...failure: unknown[]) => void errors.push(failure), succeeded() {} }
  const registration = new Registration({ client, clock, node: NODE, reporter })
  const get = async (path: string): Promise<JsonObject> => (await api.call('GET', path)).body
  return { api, client, clock, errors, registration, get }
}

function ready(node: JsonObject): JsonObject {
  return objectAt(arrayAt(node, 'status', 'conditions')[0])
}

test('a node registers, and reports its end', async () => {
  const { client, errors, registration, get } = await stage()
  await registration.open(new AbortController().signal)
  const node = await get(PATH)
  expect(node).toMatchObject({
    metadata: { labels: { disk: 'fast', 'kubernetes.io/hostname': 'node-a' } },
    spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '192.0.2.10' },
        { type: 'Hostname', address: 'node-a' },
      ],
      allocatable: { pods: '5' },
    },
  })
  expect(ready(node)).toMatchObject({ type: 'Ready', status: 'True' })
  expect(await get(LEASE)).toMatchObject({ spec: { holderIdentity: 'node-a' } })
  await registration.close()
  expect(ready(await get(PATH))).toMatchObject({ status: 'False', reason: 'NodeAgentStopped' })
  expect(errors).toEqual([])
  await client.close()
})

test('a node has all its addresses, and loses those that it had before', async () => {
  const { api, client, clock, errors, get } = await stage()
  const old = [
    { type: 'InternalIP', address: '192.0.2.99' },
    { type: 'ExternalIP', address: '198.51.100.1' },
  ]
  await api.make('/api/v1/nodes', { metadata: { name: 'node-a' }, status: { addresses: old } })
  const addresses = ['192.0.2.10', '2001:db8::10'] as IpAddress[]
  const reporter = { failed: (...failure: unknown[]) => void errors.push(failure), succeeded() {} }
  const node = { ...NODE, addresses }
  await new Registration({ client, clock, node, reporter }).open(new AbortController().signal)
  expect(arrayAt(await get(PATH), 'status', 'addresses')).toEqual([
    { type: 'InternalIP', address: '192.0.2.10' },
    { type: 'InternalIP', address: '2001:db8::10' },
    { type: 'Hostname', address: 'node-a' },
  ])
  expect(errors).toEqual([])
  await client.close()
})

test('takes over a Node that is there, and makes one again that was deleted', async () => {
  const { api, client, clock, errors, registration, get } = await stage()
  await api.make('/api/v1/nodes', { metadata: { name: 'node-a', labels: { mine: 'yes' } } })
  await registration.open(new AbortController().signal)
  expect(await get(PATH)).toMatchObject({
    metadata: { labels: { mine: 'yes', disk: 'fast' } },
    spec: { podCIDR: '10.244.0.0/24' },
  })
  const renewed = stringAt(await get(LEASE), 'spec', 'renewTime')
  await api.call('DELETE', PATH)
  const stop = new AbortController()
  let renewals = 0
  const running = registration.run(stop.signal, () => void renewals++)
  let node: JsonObject = {}
  while (stringAt(node, 'metadata', 'name') === '') {
    await eventually(() => clock.pending().length > 0)
    await clock.advance(10_000)
    node = await get(PATH)
  }
  expect(ready(node)).toMatchObject({ status: 'True' })
  expect(stringAt(await get(LEASE), 'spec', 'renewTime')).not.toBe(renewed)
  expect(renewals).toBeGreaterThan(0)
  stop.abort()
  await running
  expect(errors).toEqual([])
  await client.close()
})

test.each([
  ['True', false],
  ['Unknown', true],
])('of a node that was %s before, readiness changes: %s', async (status, isChanged) => {
  const { api, client, registration, get } = await stage()
  const [type, lastTransitionTime] = ['Ready', '2020-01-01T00:00:00Z']
  await api.make('/api/v1/nodes', {
    metadata: { name: 'node-a' },
    status: { conditions: [{ type, status, lastTransitionTime }] },
  })
  await registration.open(new AbortController().signal)
  const now = ready(await get(PATH))
  expect(now).toMatchObject({ status: 'True', reason: 'NodeAgentReady' })
  expect(stringAt(now, 'lastTransitionTime') !== lastTransitionTime).toBe(isChanged)
  await client.close()
})
