import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  ENDPOINTS,
  POD,
  PODS,
  SERVICES,
  SLICES,
  service,
  startApi,
  type TestApi,
} from '../apiserver/test-api.ts'
import { createApiClient } from '../client/api-client.ts'
import { anonymous } from '../client/credential.ts'
import { eventually } from '../client/testing/eventually.ts'
import { systemClock } from '../lib/clock.ts'
import { arrayAt, type Json, type JsonObject, scalarText, stringAt } from '../lib/json.ts'
import { systemRandom } from '../lib/random.ts'
import { endpointsController } from './endpoints/endpoints-controller.ts'
import { mirroringController } from './endpointslicemirroring/mirroring-controller.ts'
import { endpointSlicesController } from './endpointslices/endpointslices-controller.ts'
import { garbageCollector } from './garbagecollector/garbagecollector-controller.ts'
import { parseAddressPool } from './loadbalancer/address-pool.ts'
import { createLoadBalancerController } from './loadbalancer/loadbalancer-controller.ts'
import { nodeLifecycleController } from './nodelifecycle/nodelifecycle-controller.ts'
import { podReadinessController } from './nodelifecycle/podreadiness-controller.ts'
import { alone } from './runner/leadership.ts'
import { createObjectFollower } from './runner/object-follower.ts'
import { createObjectWriter } from './runner/object-writer.ts'
import { Runner } from './runner/runner.ts'
import { readyCondition } from './testing/fixtures.ts'
import { createRecordingObserver } from './testing/recording-observer.ts'

let api: TestApi
let told: readonly string[]

beforeEach(async () => {
  api = await startApi()
  told = startControllers()
})

afterEach(() => {
  expect(told.filter((one) => one.startsWith('problem'))).toEqual([])
})

function startControllers(): readonly string[] {
  const connection = {
    origin: api.url,
    basePath: '',
    tls: undefined,
    credentials: anonymous,
    source: 'test',
  }
  const clock = systemClock
  const createClient = () => createApiClient({ connection, clock, userAgent: 'controllers/test' })
  const [watching, writing] = [createClient(), createClient()]
  const observer = createRecordingObserver()
  const stop = new AbortController()
  const running = new Runner({
    controllers: [
      endpointsController,
      endpointSlicesController,
      mirroringController,
      nodeLifecycleController,
      podReadinessController,
      garbageCollector,
      createLoadBalancerController([parseAddressPool('192.0.2.1')]),
    ],
    follower: createObjectFollower({ client: watching, clock, random: systemRandom }),
    writer: createObjectWriter(writing),
    clock,
    leadership: alone,
    observer,
  }).run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
    await Promise.all([watching.close(), writing.close()])
  })
  return observer.told
}

async function makePod(serial: number, ready = true): Promise<void> {
  const name = `web-${serial}`
  await api.make(PODS, { metadata: { name, labels: { app: 'web' } }, spec: POD })
  await setPod(serial, ready)
}

async function setPod(serial: number, ready: boolean): Promise<void> {
  const ip = `10.1.0.${serial}`
  const status = {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [readyCondition(ready)],
  }
  const headers = { 'content-type': 'application/merge-patch+json' }
  await api.call('PATCH', `${PODS}/web-${serial}/status`, { body: { status }, headers })
}

/** Follows a collection until it holds what is wanted. */
async function expectSoon(path: string, wanted: (items: readonly JsonObject[]) => boolean) {
  const watch = await api.watch(
    `${path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  )
  const items = new Map<string, JsonObject>()
  while (!wanted([...items.values()])) {
    const event = await watch.next()
    if (event === undefined) throw new Error('the watch ended')
    if (event.type === 'BOOKMARK') continue
    const name = stringAt(event.object, 'metadata', 'name')
    if (event.type === 'DELETED') items.delete(name)
    else items.set(name, event.object)
  }
  watch.close()
}

function endpoints(ready: string, waiting = '') {
  return (items: readonly JsonObject[]): boolean =>
    items.some((one) => {
      const [subset] = arrayAt(one, 'subsets')
      const list = (name: string): string =>
        arrayAt(subset, name)
          .map((address) => stringAt(address, 'ip'))
          .join()
      return list('addresses') === ready && list('notReadyAddresses') === waiting
    })
}

function sliced(...addresses: readonly string[]) {
  return (items: readonly JsonObject[]): boolean => {
    const found = items.flatMap((slice) =>
      arrayAt(slice, 'endpoints').flatMap((one) => arrayAt(one, 'addresses')),
    )
    return JSON.stringify(found.map(scalarText).toSorted()) === JSON.stringify(addresses)
  }
}

const WEB = { selector: { app: 'web' } }

test('pods become endpoints, lose readiness, and go', async () => {
  await makePod(1)
  await makePod(2, false)
  await api.make(SERVICES, service('web', WEB))
  await expectSoon(ENDPOINTS, endpoints('10.1.0.1', '10.1.0.2'))
  await expectSoon(SLICES, sliced('10.1.0.1', '10.1.0.2'))
  await setPod(2, true)
  await expectSoon(ENDPOINTS, endpoints('10.1.0.1,10.1.0.2'))
  await api.call('DELETE', `${PODS}/web-1`)
  await expectSoon(ENDPOINTS, endpoints('10.1.0.2'))
  await expectSoon(SLICES, sliced('10.1.0.2'))
  await api.call('DELETE', `${SERVICES}/web`)
  await expectSoon(SLICES, (items) => items.length === 0)
  await expectSoon(ENDPOINTS, (items) =>
    items.every((one) => stringAt(one, 'metadata', 'name') !== 'web'),
  )
})

test('what the server stores is what was meant: no write is repeated', async () => {
  await makePod(1)
  const ports = [{ port: 80, targetPort: 8080, appProtocol: 'http' }]
  await api.make(SERVICES, service('web', { ...WEB, ports }, { labels: { team: 'a' } }))
  await api.make(SERVICES, service('empty', { selector: { app: 'none' } }))
  await expectSoon(ENDPOINTS, endpoints('10.1.0.1'))
  await expectSoon(SLICES, (items) => items.length === 2)
  await api.make(SERVICES, service('last', WEB))
  await expectSoon(SLICES, (items) => items.length === 3)
  await expectSoon(ENDPOINTS, (items) => items.length === 3)
  await eventually(() => told.length >= 6)
  expect(told.toSorted()).toEqual([
    ...Array<string>(3).fill('wrote endpoints create done'),
    ...Array<string>(3).fill('wrote endpointslices create done'),
  ])
})

test('Endpoints that are tampered with are put right', async () => {
  await makePod(1)
  await api.make(SERVICES, service('web', WEB))
  await expectSoon(ENDPOINTS, endpoints('10.1.0.1'))
  const headers = { 'content-type': 'application/merge-patch+json' }
  const subsets = [{ addresses: [{ ip: '203.0.113.66' }], ports: [{ port: 1 }] }]
  const { status } = await api.call('PATCH', `${ENDPOINTS}/web`, { body: { subsets }, headers })
  expect(status).toBe(200)
  await expectSoon(ENDPOINTS, endpoints('10.1.0.1'))
})

test('Endpoints by hand are mirrored while they and their Service are there', async () => {
  await api.make(ENDPOINTS, {
    metadata: { name: 'hand' },
    subsets: [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ port: 80 }] }],
  })
  await api.make(SERVICES, service('hand'))
  await expectSoon(SLICES, sliced('192.0.2.7'))
  await api.call('DELETE', `${ENDPOINTS}/hand`)
  await expectSoon(SLICES, (items) => items.length === 0)
})

const NODES = '/api/v1/nodes'
const EVENTS = '/api/v1/namespaces/default/events'
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const SECRETS = '/api/v1/namespaces/default/secrets'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

function readyStatus(node: Json | undefined): string {
  const conditions = arrayAt(node, 'status', 'conditions')
  const ready = conditions.find((one) => stringAt(one, 'type') === 'Ready')
  return stringAt(ready, 'status')
}

test('a silent node takes its pods out of the endpoints until it is heard of again', async () => {
  await api.make('/api/v1/namespaces', { metadata: { name: 'kube-node-lease' } })
  const metadata = { name: 'node-a' }
  const renewTime = '2026-01-01T00:00:00.000000Z'
  await api.make(LEASES, { metadata, spec: { holderIdentity: 'node-a', renewTime } })
  const conditions = [{ type: 'DiskPressure', status: 'False' }, readyCondition(true)]
  await api.make(NODES, { metadata, status: { conditions } })
  await api.make(PODS, {
    metadata: { name: 'web-1', labels: { app: 'web' } },
    spec: { ...POD, nodeName: 'node-a' },
  })
  await setPod(1, true)
  await api.make(SERVICES, service('web', WEB))
  await expectSoon(ENDPOINTS, endpoints('', '10.1.0.1'))
  await expectSoon(NODES, ([node]) => readyStatus(node) === 'Unknown')
  await expectSoon(EVENTS, (items) =>
    items.some((one) => stringAt(one, 'reason') === 'NodeNotReady'),
  )
  const headers = { 'content-type': 'application/merge-patch+json' }
  const spec = { renewTime: new Date().toISOString().replace('Z', '000Z') }
  await api.call('PATCH', `${LEASES}/node-a`, { body: { spec }, headers })
  await expectSoon(ENDPOINTS, endpoints('10.1.0.1'))
  const [node] = arrayAt((await api.call('GET', NODES)).body, 'items')
  expect(readyStatus(node)).toBe('True')
  expect(arrayAt(node, 'status', 'conditions')).toHaveLength(2)
})

test('Services of type LoadBalancer get an address, as long as there are any', async () => {
  await api.make(SERVICES, service('a', { type: 'LoadBalancer' }))
  const holds = (name: string) => (items: readonly JsonObject[]) =>
    items.some(
      (one) =>
        stringAt(one, 'metadata', 'name') === name &&
        stringAt(arrayAt(one, 'status', 'loadBalancer', 'ingress')[0], 'ip') === '192.0.2.1',
    )
  await expectSoon(SERVICES, holds('a'))
  await api.make(SERVICES, service('b', { type: 'LoadBalancer' }))
  await expectSoon(EVENTS, (items) => items.some((one) => stringAt(one, 'type') === 'Warning'))
  const headers = { 'content-type': 'application/merge-patch+json' }
  await api.call('PATCH', `${SERVICES}/a`, { body: { spec: { type: 'ClusterIP' } }, headers })
  await expectSoon(SERVICES, holds('b'))
})

test('what is owned goes with its owner, whatever its kind', async () => {
  const { metadata } = await api.make(CONFIG_MAPS, { metadata: { name: 'owner' } })
  const uid = stringAt(metadata, 'uid')
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  await api.make(PODS, { metadata: { name: 'owned', ownerReferences }, spec: POD })
  const ghost = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'ghost' }]
  await api.make(SECRETS, { metadata: { name: 'ghostly', ownerReferences: ghost } })
  await expectGone(`${SECRETS}/ghostly`)
  expect((await api.call('GET', `${PODS}/owned`)).status).toBe(200)
  await api.call('DELETE', `${CONFIG_MAPS}/owner`)
  await expectGone(`${PODS}/owned`)
})

async function expectGone(path: string): Promise<void> {
  while ((await api.call('GET', path)).status !== 404) await Promise.resolve()
}
