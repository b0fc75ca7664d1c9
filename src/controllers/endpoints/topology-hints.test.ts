import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, scalarText, stringAt } from '../../lib/json.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import {
  LEAVING,
  NOT_READY,
  type PodParts,
  rawEndpoints,
  rawNode,
  rawPod,
  rawService,
  readyNode,
  relabelled,
} from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { endpointSlicesController as controller } from './endpointslices-controller.ts'
import { mirroringController } from './mirroring-controller.ts'

const AUTO = { annotations: { 'service.orch.io/topology-aware-hints': 'auto' } }
const ZONES = ['a', 'b', 'c']

/** `web-<serial>` on the node of one of the three zones. */
function podIn(zone: string, serial: number, parts: PodParts = {}): JsonObject {
  return rawPod(serial, { ...parts, spec: { nodeName: `node-${zone}` } })
}

/** Three nodes of equal size; a pod for each letter, in the zone of that name. */
function threeZones(zones: string): FakeCluster {
  const cluster = createFakeCluster()
  for (const zone of ZONES) cluster.put('nodes', rawNode(`node-${zone}`, zone, readyNode('4')))
  for (const [i, zone] of zones.split('').entries()) cluster.put('pods', podIn(zone, i))
  return cluster
}

/** `0 a`: hints of each endpoint by the last number of its address; `0 a node-a` with a node. */
function hints(cluster: FakeCluster): readonly string[] {
  const endpoints = cluster.all('endpointslices').flatMap((slice) => arrayAt(slice, 'endpoints'))
  return endpoints.map((one) => {
    const names = ['forZones', 'forNodes'].flatMap((key) => arrayAt(one, 'hints', key))
    const [address] = arrayAt(one, 'addresses')
    const serial = scalarText(address).split('.').at(-1)
    return [serial, ...names.map((name) => stringAt(name, 'name'))].join(' ')
  })
}

function condition(cluster: FakeCluster): string {
  const [found] = arrayAt(cluster.get('services', 'shop/web'), 'status', 'conditions')
  return `${stringAt(found, 'status')} ${stringAt(found, 'reason')}`.trim()
}

const events = (log: readonly string[]) => log.filter((one) => one.startsWith('record'))
const ENABLED = 'record TopologyAwareHintsEnabled shop/web'
const DISABLED = 'record TopologyAwareHintsDisabled shop/web'

test.each([
  ['service.orch.io/topology-aware-hints', 'auto'],
  ['service.kubernetes.io/topology-aware-hints', 'Auto'],
  ['service.kubernetes.io/topology-mode', 'Auto'],
])('%s: zones share the endpoints in proportion', async (name, value) => {
  const cluster = threeZones('aab')
  cluster.put('services', rawService({}, { annotations: { [name]: value } }))
  await reconcile(cluster, { controller })
  const zones = hints(cluster).map((one) => one.split(' ')[1])
  expect(new Set(zones)).toEqual(new Set(ZONES))
  expect(hints(cluster)).toContain('2 b')
})

test.each([
  ['PreferClose', ['0 a', '1 b', '2']],
  ['PreferSameZone', ['0 a', '1 b', '2']],
  ['PreferSameNode', ['0 a node-a', '1 b node-b', '2 node-x']],
])('%s: hints name where an endpoint is', async (trafficDistribution, expected) => {
  const cluster = threeZones('ab')
  cluster.put('pods', rawPod(2, { spec: { nodeName: 'node-x' } }))
  cluster.put('services', rawService({ trafficDistribution }))
  await reconcile(cluster, { controller })
  expect(hints(cluster)).toEqual(expected)
  expect(events(cluster.log)).toEqual([])
})

test.each([
  ['the annotation', AUTO, {}],
  ['the field', {}, { trafficDistribution: 'PreferSameNode' }],
])('only ready endpoints carry hints: %s', async (_, metadata, spec) => {
  const cluster = threeZones('abc')
  cluster.put('pods', podIn('a', 3, NOT_READY))
  cluster.put('pods', podIn('a', 4, LEAVING))
  cluster.put('services', rawService(spec, metadata))
  await reconcile(cluster, { controller })
  expect(hints(cluster).slice(3)).toEqual(['3', '4'])
  expect(hints(cluster).map((one) => one.split(' ').length > 1)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
})

test('the annotation takes precedence over the field, and without it the field decides', async () => {
  const cluster = threeZones('aaa')
  const field = { trafficDistribution: 'PreferClose' }
  cluster.put('services', rawService(field, AUTO))
  await reconcile(cluster, { controller })
  expect(hints(cluster).map((one) => one.split(' ')[1])).toEqual(expect.arrayContaining(ZONES))
  cluster.put('services', rawService(field))
  await reconcile(cluster, { controller })
  expect(hints(cluster)).toEqual(['0 a', '1 a', '2 a'])
})

test.each<[string, string, string, (cluster: FakeCluster) => void]>([
  ['too few endpoints', 'ab', 'FewerEndpointsThanZones', () => undefined],
  ['an overloaded zone', 'abca', 'OverloadThresholdExceeded', () => undefined],
  [
    'a node without a zone',
    'abc',
    'InsufficientNodeInformation',
    (cluster) => cluster.put('nodes', rawNode('node-x', '', readyNode('4'))),
  ],
  [
    'a node without processors',
    'abc',
    'InsufficientNodeInformation',
    (cluster) => cluster.put('nodes', rawNode('node-x', 'a', readyNode('0'))),
  ],
  [
    'nodes ready in one zone only',
    'abc',
    'FewerThanTwoZones',
    (cluster) => ['b', 'c'].forEach((zone) => cluster.put('nodes', rawNode(`node-${zone}`, zone))),
  ],
  [
    'an endpoint on a node that is not known',
    'abc',
    'EndpointWithoutZone',
    (cluster) => cluster.put('pods', podIn('x', 0)),
  ],
])('%s: no hints, and the reason is reported once', async (_, zones, reason, change) => {
  const cluster = threeZones(zones)
  change(cluster)
  cluster.put('services', rawService({}, AUTO))
  const log = await reconcile(cluster, { controller })
  expect(log.slice(-2)).toEqual(['patch services/shop/web', DISABLED])
  expect(hints(cluster).every((one) => !one.includes(' '))).toBe(true)
  expect(condition(cluster)).toBe(`False ${reason}`)
  expect(await reconcile(cluster, { controller })).toEqual([])
})

test('each change of the state is reported once, and the end of the request too', async () => {
  const cluster = threeZones('abc')
  const next = async () => events(await reconcile(cluster, { controller }))
  const annotated = (metadata: JsonObject) => {
    const known = cluster.get('services', 'shop/web') ?? rawService()
    cluster.put('services', relabelled(known, metadata))
  }
  annotated(AUTO)
  expect(await next()).toEqual([ENABLED])
  cluster.put('pods', podIn('a', 9))
  expect(await next()).toEqual([DISABLED])
  cluster.put('pods', podIn('b', 8))
  expect(await next()).toEqual([])
  cluster.put('pods', podIn('c', 7))
  expect(await next()).toEqual([ENABLED])
  annotated({ annotations: {} })
  expect(await next()).toEqual([DISABLED])
  expect(condition(cluster)).toBe('Unknown NotWanted')
  expect(await next()).toEqual([])
})

test('another message for the same state is written without an Event', async () => {
  const cluster = threeZones('abc')
  cluster.put('services', rawService({}, AUTO))
  await reconcile(cluster, { controller })
  const known = cluster.get('services', 'shop/web') ?? {}
  const [condition] = arrayAt(known, 'status', 'conditions')
  const conditions = [{ ...objectAt(condition), message: 'as an earlier release put it' }]
  cluster.put('services', { ...known, status: { conditions } })
  expect(await reconcile(cluster, { controller })).toEqual(['patch services/shop/web'])
})

test('a Service that loses its selector is reported as one without hints', async () => {
  const cluster = threeZones('abc')
  cluster.put('services', rawService({}, AUTO))
  await reconcile(cluster, { controller })
  const known = cluster.get('services', 'shop/web') ?? {}
  cluster.put('services', { ...known, spec: { ...objectAt(known, 'spec'), selector: {} } })
  await reconcile(cluster, { controller })
  expect(condition(cluster)).toBe('Unknown NotWanted')
})

test('a Service that requests no hints gets none, and hints of other programs are removed', async () => {
  const cluster = threeZones('abc')
  cluster.put('services', rawService())
  await reconcile(cluster, { controller })
  const [slice = {}] = cluster.all('endpointslices')
  const endpoints = arrayAt(slice, 'endpoints').map((one) => ({
    ...objectAt(one),
    hints: { forZones: [{ name: 'z' }] },
  }))
  cluster.put('endpointslices', { ...slice, endpoints })
  expect(await reconcile(cluster, { controller })).toHaveLength(1)
  expect(hints(cluster)).toEqual(['0', '1', '2'])
  expect(condition(cluster)).toBe('')
})

test('hints are computed for both families, and the Event names the one without endpoints', async () => {
  const cluster = threeZones('abc')
  cluster.put('pods', podIn('a', 0, { status: { podIPs: [{ ip: '10.0.0.0' }] } }))
  cluster.put('services', rawService({ ipFamilies: ['IPv4', 'IPv6'] }, AUTO))
  const writes = controller.reconcile('shop/web', cluster.view, 0, 0).writes
  const [event] = writes.filter(({ verb }) => verb === 'record')
  expect(JSON.stringify(event)).toContain('(IPv6, ready endpoints: 2, zones with ready nodes: 3)')
})

test('slices mirrored from Endpoints carry no hints', async () => {
  const cluster = threeZones('')
  cluster.put('services', rawService({ selector: {}, trafficDistribution: 'PreferClose' }, AUTO))
  const addresses = ZONES.map((zone, i) => ({ ip: `10.0.0.${i}`, nodeName: `node-${zone}` }))
  cluster.put('endpoints', rawEndpoints([{ addresses, ports: [{ port: 80 }] }]))
  await reconcile(cluster, { controller: mirroringController })
  await reconcile(cluster, { controller })
  expect(hints(cluster)).toEqual(['0', '1', '2'])
})

/** A Node as its heartbeat writes it. */
function beating(name: string, zone: string, at: string): JsonObject {
  const [ready] = arrayAt(readyNode('4'), 'conditions')
  const conditions = [{ ...objectAt(ready), lastHeartbeatTime: at }]
  return rawNode(name, zone, { ...readyNode('4'), conditions })
}

test('a heartbeat of a Node affects no Service, a change of its processors those with hints in proportion to them', () => {
  const cluster = threeZones('abc')
  cluster.put('services', rawService({}, AUTO))
  cluster.put('services', rawService({}, { name: 'plain' }))
  const view = cluster.view
  const change = (after: JsonObject | undefined): readonly string[] => {
    const before = view.nodes.get('node-a')
    if (after === undefined) cluster.remove('nodes', 'node-a')
    else cluster.put('nodes', after)
    const found = controller.watches.nodes?.(
      { key: 'node-a', before, after: view.nodes.get('node-a') },
      view,
    )
    return [...(found ?? [])]
  }
  expect(change(beating('node-a', 'a', '2026-01-01T00:00:01Z'))).toEqual([])
  expect(change(beating('node-a', 'a', '2026-01-01T00:00:02Z'))).toEqual([])
  const [capacity = ''] = change(rawNode('node-a', 'a', readyNode('8')))
  expect(controller.delayMs?.(capacity, view)).toBeGreaterThan(0)
  expect([...(controller.reconcile(capacity, view, 0, 0).dirty ?? [])]).toEqual(['shop/web'])
  expect(change(rawNode('node-a', 'a'))).toEqual([capacity])
  expect(change(rawNode('node-a', 'b')).toSorted()).toEqual(['shop/plain', 'shop/web'])
  cluster.remove('services', 'shop/web')
  expect(change(rawNode('node-a', 'b', readyNode('8')))).toEqual([])
})

test('many changes of Nodes cause one reconcile of the Services with hints in proportion to processors', async () => {
  const cluster = threeZones('abc')
  cluster.put('services', rawService({}, AUTO))
  const looked: string[] = []
  const counting = {
    ...controller,
    reconcile: (...[key, view, now, since]: Parameters<typeof controller.reconcile>) => {
      looked.push(key)
      return controller.reconcile(key, view, now, since)
    },
  }
  const clock = await runControllers(cluster, [counting])
  await clock.advance(5000)
  const log = cluster.log.length
  looked.length = 0
  for (let i = 0; i < 300; i++) {
    cluster.put('nodes', rawNode(`more-${i}`, ZONES[i % 3] ?? '', readyNode('4')))
  }
  await clock.advance(5000)
  expect(looked).toEqual(['zone capacity', 'shop/web'])
  expect(cluster.log).toHaveLength(log)
  cluster.put('nodes', rawNode('odd', '', readyNode('4')))
  await clock.advance(5000)
  expect(cluster.log.slice(log)).toEqual([
    expect.stringMatching(/^patch endpointslices/),
    'patch services/shop/web',
    DISABLED,
  ])
})
