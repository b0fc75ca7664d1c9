import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { arrayAt, stringAt, valueAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Operation, Store } from '../../storage/store.ts'
import { addressKey, nodePortKey } from '../allocation/allocation-keys.ts'
import { type ApiServerOptions, createApiServer } from '../api-server.ts'
import { SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'
import { type Allocation, auditAllocations, type Holder } from './allocation-repair.ts'

const PERIOD_MS = 180_000
const IP = addressKey('10.96.0.10')
const PORT = nodePortKey('TCP', 30_080)

/** A server with replicas on its store, and a function that awaits one whole round of all of them. */
async function started(replicas = 0, options: Partial<ApiServerOptions> = {}) {
  const clock = new FakeClock()
  let rounds = 0
  const wrap = (store: Store): Store => ({
    ...store,
    list: (query) => {
      if (query.prefix === '/services/') rounds++
      return store.list(query)
    },
    watch: (query) => store.watch(query),
  })
  const api = await startApi({ clock, wrap })
  for (let index = 0; index < replicas; index++) {
    const replica = createApiServer({ ...options, store: wrap(api.store), clock })
    onTestFinished(() => replica.close())
    await replica.listen()
  }
  const round = async (): Promise<void> => {
    const expected = rounds + 1 + replicas
    await clock.advance(PERIOD_MS)
    await expect.poll(() => rounds).toBe(expected)
    await setImmediate()
  }
  const tamper = (...operations: readonly Operation[]) => api.store.txn({ compare: [], operations })
  return { api, round, tamper }
}

const put = (key: string, owner: string): Operation => ({
  op: 'put',
  key,
  value: Buffer.from(JSON.stringify({ owner })),
})

async function counted(api: TestApi, name: string, type: string): Promise<string | undefined> {
  const { text } = await api.call('GET', '/metrics')
  const head = `apiserver_${name}_errors_total{type="${type}"} `
  return text
    .split('\n')
    .find((line) => line.startsWith(head))
    ?.slice(head.length)
}

test('a leaked address and port are free again after three rounds, not before', async () => {
  const { api, round, tamper } = await started()
  await tamper(put(IP, '/services/default/gone'), put(PORT, '/services/default/gone'))
  await round()
  await round()
  expect(await api.store.get(IP)).toBeDefined()
  await round()
  expect(await api.store.get(PORT)).toBeUndefined()
  expect(await api.store.get(IP)).toBeUndefined()
  expect(await counted(api, 'clusterip_repair_ip', 'leak')).toBe('1')
  expect(await counted(api, 'nodeport_repair_port', 'leak')).toBe('1')
  const ports = [{ port: 80, nodePort: 30_080 }]
  await api.make(SERVICES, service('web', { clusterIP: '10.96.0.10', type: 'NodePort', ports }))
})

test('an unreadable allocation has no holder and does not block the repair of others', async () => {
  const { api, round, tamper } = await started()
  await tamper({ op: 'put', key: IP, value: Buffer.from('torn') })
  for (let count = 0; count < 3; count++) await round()
  expect(await api.store.get(IP)).toBeUndefined()
})

test('a missing allocation of a Service is made again, so that no other Service gets it', async () => {
  const { api, round, tamper } = await started()
  await api.make(SERVICES, service('web', { clusterIP: '10.96.0.10' }))
  await tamper({ op: 'delete', key: IP })
  await round()
  expect(await api.store.get(IP)).toBeDefined()
  expect(await counted(api, 'clusterip_repair_ip', 'repair')).toBe('1')
  const body = service('thief', { clusterIP: '10.96.0.10' })
  expect((await api.call('POST', SERVICES, { body })).status).toBe(422)
})

test('two Services with one address: the one without the allocation gets one event', async () => {
  const { api, round, tamper } = await started()
  await api.make(SERVICES, service('first', { clusterIP: '10.96.0.10' }))
  await tamper({ op: 'delete', key: IP })
  await api.make(SERVICES, service('second', { clusterIP: '10.96.0.10' }))
  const events = async () =>
    arrayAt((await api.call('GET', '/api/v1/namespaces/default/events')).body, 'items')
  await round()
  const [event] = await events()
  expect(event).toMatchObject({
    reason: 'ClusterIPAlreadyAllocated',
    involvedObject: { kind: 'Service', name: 'first' },
    message: 'ClusterIP 10.96.0.10 is allocated to another Service; please recreate this Service',
  })
  await round()
  expect(await events()).toHaveLength(1)
  expect(await counted(api, 'clusterip_repair_ip', 'duplicate')).toBe('1')
  expect(stringAt(JSON.parse((await api.store.get(IP))!.value.toString()), 'owner')).toContain(
    'second',
  )
  expect(valueAt(event, 'type')).toBe('Warning')
  const ports = [{ port: 81 }]
  const headers = { 'content-type': 'application/merge-patch+json' }
  await api.call('PATCH', `${SERVICES}/first`, { headers, body: { spec: { ports } } })
  await api.call('DELETE', `${SERVICES}/first`)
  expect(await api.store.get(IP)).toBeDefined()
})

test('an allocation outside of changed ranges is reported once and stays', async () => {
  const { api, round } = await started(1, {
    serviceAddressRanges: ['10.97.0.0/16'],
    nodePortRange: { first: 31_000, last: 31_999 },
  })
  const ports = [{ port: 80, nodePort: 30_080 }]
  await api.make(SERVICES, service('old', { clusterIP: '10.96.0.10', type: 'NodePort', ports }))
  for (let count = 0; count < 2; count++) await round()
  const events = await api.call('GET', '/api/v1/namespaces/default/events')
  const messages = arrayAt(events.body, 'items').map((event) => stringAt(event, 'message'))
  const why = 'outside the range that this server gives out; please recreate this Service'
  expect(messages.toSorted()).toEqual([
    `ClusterIP 10.96.0.10 is ${why}`,
    `node port 30080/TCP is ${why}`,
  ])
  expect([await api.store.get(IP), await api.store.get(PORT)]).not.toContain(undefined)
  expect(await counted(api, 'clusterip_repair_ip', 'outOfRange')).toBeUndefined()
})

test('two servers on one store make a missing allocation once', async () => {
  const { api, round, tamper } = await started(1)
  await api.make(SERVICES, service('web', { clusterIP: '10.96.0.10' }))
  await tamper({ op: 'delete', key: IP })
  const before = await api.store.revision()
  await round()
  expect(await api.store.get(IP)).toBeDefined()
  expect(await api.store.revision()).toBe(before + 1)
})

function holder(name: string, createRevision: number, ...holds: readonly string[]): Holder {
  return { key: name, revision: 9, createRevision, holds: new Set(holds) }
}

function allocation(key: string, owner: string): Allocation {
  return { key, owner, revision: 5 }
}

const NO_HOLDERS: ReadonlySet<string> = new Set()
const NONE = { leaked: [], missing: [], duplicates: [], outside: [] }
const [a, b] = [holder('a', 1, IP, PORT), holder('b', 2, IP)]

test.each<[string, readonly Allocation[], readonly Holder[], object]>([
  [
    'allocation and Service agree: no difference',
    [allocation(IP, 'a'), allocation(PORT, 'a')],
    [a],
    NONE,
  ],
  [
    'no Service has it: leaked',
    [allocation(IP, 'a')],
    [],
    { ...NONE, leaked: [allocation(IP, 'a')] },
  ],
  [
    'there is no allocation: missing',
    [allocation(PORT, 'a')],
    [a],
    { ...NONE, missing: [{ key: IP, revision: 0, holder: a }] },
  ],
  [
    'the allocation names a Service that does not have it: missing',
    [allocation(IP, 'x'), allocation(PORT, 'a')],
    [a],
    { ...NONE, missing: [{ key: IP, revision: 5, holder: a }] },
  ],
  [
    'two Services have it, and the younger one is named: the older one is a duplicate',
    [allocation(IP, 'b'), allocation(PORT, 'a')],
    [b, a],
    { ...NONE, duplicates: [{ key: IP, revision: 5, holder: a }] },
  ],
  [
    'two Services have it, and neither is named: the younger one is a duplicate',
    [allocation(PORT, 'a')],
    [b, a],
    {
      ...NONE,
      missing: [{ key: IP, revision: 0, holder: a }],
      duplicates: [{ key: IP, revision: 0, holder: b }],
    },
  ],
])('%s', (_, allocations, holders, expected) => {
  expect(auditAllocations({ allocations, holders, unreadable: NO_HOLDERS }, () => true)).toEqual(
    expected,
  )
})

test('a port outside of the ranges is reported as outside', () => {
  const allocations = [allocation(IP, 'a'), allocation(PORT, 'a')]
  const outside = [{ key: PORT, revision: 5, holder: a }]
  const audit = auditAllocations(
    { allocations, holders: [a], unreadable: NO_HOLDERS },
    (key) => key !== PORT,
  )
  expect(audit).toEqual({ ...NONE, outside })
})

test('allocations of an unreadable Service are neither leaked nor given to another Service', () => {
  const unreadable = new Set(['lost'])
  const allocations = [allocation(PORT, 'lost'), allocation(IP, 'lost'), allocation('/x', '')]
  expect(auditAllocations({ allocations, holders: [b], unreadable }, () => true)).toEqual({
    ...NONE,
    duplicates: [{ key: IP, revision: 5, holder: b }],
  })
})
