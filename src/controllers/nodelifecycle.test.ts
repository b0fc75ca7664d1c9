import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt } from '../lib/json.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { endpointsController } from './endpoints/endpoints-controller.ts'
import {
  nodeLifecycleController,
  nodeOfLease,
  podReadinessController,
} from './nodelifecycle-controller.ts'
import type { Controller } from './runner/controller.ts'
import { alone } from './runner/runner.ts'
import { electable } from './testing/electable.ts'
import { createFakeCluster, type FakeCluster } from './testing/fake-cluster.ts'
import { conditionOf, NOT_READY, rawPod, rawService } from './testing/fixtures.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

const T0 = new FakeClock().now()
const HOUR = 3_600_000
const PATCH = 'patch nodes/node-a'
const EVENT = 'record NodeNotReady node-a'

function node(status?: string, heartbeatMs?: number): JsonObject {
  const lastHeartbeatTime = heartbeatMs === undefined ? null : new Date(heartbeatMs).toISOString()
  const ready = { type: 'Ready', status: status ?? '', reason: 'AgentSays', lastHeartbeatTime }
  const other = { type: 'DiskPressure', status: 'False' }
  const conditions = status === undefined ? [other] : [other, ready]
  return { metadata: { name: 'node-a', uid: 'node' }, status: { conditions } }
}

function lease(renewedMs: number, metadata: JsonObject = {}): JsonObject {
  const renewTime = new Date(renewedMs).toISOString().replace('Z', '000Z')
  return {
    metadata: { name: 'node-a', namespace: 'kube-node-lease', uid: 'l', ...metadata },
    spec: { holderIdentity: 'node-a', renewTime },
  }
}

function ready(cluster: FakeCluster, collection: 'nodes' | 'pods', key: string): string {
  const found = conditionOf(cluster.get(collection, key), 'Ready')
  return [stringAt(found, 'status'), stringAt(found, 'reason')].filter((one) => one !== '').join()
}

/** A cluster that is followed since `T0`, and the writes for its node at `T0 + ms`. */
function scene(controller: Controller = nodeLifecycleController) {
  const clock = new FakeClock()
  const cluster = createFakeCluster(clock)
  function look(ms: number, key = 'node-a'): Promise<readonly string[]> {
    clock.elapse(T0 + ms - clock.now())
    return reconcile(cluster, { controller, key, now: clock.now(), since: T0 })
  }
  return { clock, cluster, look }
}

const silence: readonly (readonly [string, readonly JsonObject[], JsonObject, string, boolean])[] =
  [
    ['a Lease', [lease(T0)], node('True'), 'Unknown,NodeStatusUnknown', true],
    ['a heartbeat of the status', [], node('True', T0), 'Unknown,NodeStatusUnknown', true],
    ['the later of both', [lease(T0)], node('True', T0 - 1e6), 'Unknown,NodeStatusUnknown', true],
    ['a node not ready', [lease(T0)], node('False'), 'Unknown,SilentWhileNotReady', true],
    ['a node that never reported', [lease(T0)], node(), 'Unknown,NodeStatusNeverUpdated', true],
    ['nothing ever', [], node('True'), 'True,AgentSays', false],
    ['an empty Lease', [{ ...lease(T0), spec: {} }], node('True'), 'True,AgentSays', false],
    [
      'a Lease elsewhere',
      [lease(T0, { namespace: 'shop' })],
      node('True'),
      'True,AgentSays',
      false,
    ],
  ]

test.each(silence)('40 s after %s', async (_, leases, object, wanted, isLost) => {
  const { cluster, look } = scene()
  for (const one of leases) cluster.put('leases', one)
  cluster.put('nodes', object)
  expect(await look(39_999)).toEqual([])
  expect(await look(40_000)).toEqual(isLost ? [PATCH, EVENT] : [])
  expect(ready(cluster, 'nodes', 'node-a')).toBe(wanted)
  expect(await look(50_000)).toEqual([])
  expect(arrayAt(cluster.get('nodes', 'node-a'), 'status', 'conditions')[0]).toEqual({
    type: 'DiskPressure',
    status: 'False',
  })
})

const returns: readonly (readonly [string, JsonObject, string])[] = [
  ['ready', node('True'), 'True,HeartbeatsResumed'],
  ['not ready', node('False'), 'Unknown,SilentWhileNotReady'],
  ['silent about it', node(), 'Unknown,NodeStatusNeverUpdated'],
]

test.each(returns)('a node that was %s comes back', async (_, object, wanted) => {
  const { cluster, look } = scene()
  cluster.put('nodes', object)
  cluster.put('leases', lease(T0))
  await look(40_000)
  cluster.put('leases', lease(T0 + 60_000))
  await look(60_000)
  expect(ready(cluster, 'nodes', 'node-a')).toBe(wanted)
  expect(await look(60_000)).toEqual([])
})

test('only Leases of nodes concern nodes', () => {
  const keys = ['kube-node-lease/node-a', 'shop/node-a']
  expect(keys.map(nodeOfLease)).toEqual([['node-a'], []])
})

test.each([
  ['an hour behind', -HOUR],
  ['an hour ahead', HOUR],
])('a node whose clock is %s lives as long as it renews its Lease', async (_, wrong) => {
  const { cluster, look } = scene()
  cluster.put('nodes', node('True'))
  for (let ms = 0; ms <= 120_000; ms += 30_000) {
    expect(await look(ms)).toEqual([])
    cluster.put('leases', lease(T0 + wrong + ms))
  }
  expect(await look(159_999)).toEqual([])
  expect(await look(160_000)).toEqual([PATCH, EVENT])
})

test('other changes of a Node or its Lease are no heartbeats', async () => {
  const { clock, cluster, look } = scene()
  for (const labels of [{}, { a: 'b' }]) {
    cluster.put('nodes', { ...node('True', T0), metadata: { name: 'node-a', labels } })
    cluster.put('leases', lease(T0, { labels }))
    clock.elapse(30_000)
  }
  expect(await look(60_000)).toEqual([PATCH, EVENT])
})

test('heartbeats from later than now, after the clock was set back, do not count', async () => {
  const { clock, cluster, look } = scene()
  cluster.put('nodes', node('True'))
  clock.elapse(HOUR)
  cluster.put('leases', lease(T0))
  expect(await look(40_000)).toEqual([PATCH, EVENT])
})

test('Pods of a silent node become not ready, and ready again with it', async () => {
  const cluster = createFakeCluster()
  cluster.put('nodes', node('Unknown'))
  cluster.put('pods', rawPod(1))
  cluster.put('pods', rawPod(2, NOT_READY))
  cluster.put('pods', rawPod(3, { spec: { nodeName: 'node-b' } }))
  const settle = async (): Promise<readonly (readonly string[])[]> => {
    const keys = ['shop/web-1', 'shop/web-2', 'shop/web-3']
    const writes: (readonly string[])[] = []
    for (const key of keys) {
      writes.push(await reconcile(cluster, { controller: podReadinessController, key }))
    }
    return writes
  }
  expect(await settle()).toEqual([['patch pods/shop/web-1'], [], []])
  expect(ready(cluster, 'pods', 'shop/web-1')).toBe('False,NodeStatusUnknown')
  expect(await settle()).toEqual([[], [], []])
  cluster.put('nodes', node('True'))
  expect(await settle()).toEqual([['patch pods/shop/web-1'], [], []])
  expect(ready(cluster, 'pods', 'shop/web-1')).toBe('True')
})

test('a Pod that its agent reports as ready stays ready while the node is not silent', async () => {
  const { cluster, look } = scene(podReadinessController)
  const key = 'shop/web-1'
  cluster.put('nodes', node('Unknown'))
  cluster.put('leases', lease(T0))
  cluster.put('pods', rawPod(1))
  expect(await look(39_999, key)).toEqual([])
  const { againMs } = podReadinessController.reconcile(key, cluster.view, T0 + 30_000, T0)
  expect(againMs).toBe(10_000)
  expect(await look(40_000, key)).toEqual(['patch pods/shop/web-1'])
  expect(await look(50_000, key)).toEqual([])
})

/** A Service on a node that was ready: what became of both, with all controllers at work. */
async function served(leadership = alone, renewedMs = -HOUR) {
  const cluster = createFakeCluster()
  const clock = new FakeClock()
  cluster.put('services', rawService())
  cluster.put('pods', rawPod(1))
  cluster.put('nodes', node('True'))
  cluster.put('leases', lease(clock.now() + renewedMs))
  const controllers = [nodeLifecycleController, podReadinessController, endpointsController]
  await runControllers(cluster, controllers, { clock, leadership })
  const serves = (): boolean => {
    const [subset] = arrayAt(cluster.get('endpoints', 'shop/web'), 'subsets')
    return arrayAt(subset, 'addresses').length === 1
  }
  return { cluster, clock, serves }
}

test('the endpoints of the Pods of a silent node are not ready until it sends heartbeats again', async () => {
  const { cluster, clock, serves } = await served()
  await clock.advance(39_000)
  expect(serves()).toBe(true)
  await clock.advance(1000)
  expect(serves()).toBe(false)
  cluster.put('leases', lease(clock.now()))
  await clock.advance(0)
  expect(serves()).toBe(true)
})

test('a new leader waits 40 s before a node is silent, and restores none without a heartbeat', async () => {
  const { leadership, lead } = electable()
  const { cluster, clock, serves } = await served(leadership)
  await clock.advance(HOUR)
  lead(true)
  await clock.advance(39_999)
  expect([serves(), ready(cluster, 'nodes', 'node-a')]).toEqual([true, 'True,AgentSays'])
  await clock.advance(1)
  expect(serves()).toBe(false)
  lead(false)
  lead(true)
  await clock.advance(20_000)
  expect([serves(), ready(cluster, 'nodes', 'node-a')]).toEqual([
    false,
    'Unknown,NodeStatusUnknown',
  ])
})

const breaks: readonly (readonly [string, (cluster: FakeCluster, clock: FakeClock) => unknown])[] =
  [
    ['a new list', (cluster) => cluster.relist()],
    ['a sleep of the machine', (_, clock) => clock.elapse(HOUR)],
    [
      'a watch that was broken',
      async (cluster, clock) => {
        cluster.isConnected = false
        await clock.advance(HOUR)
        cluster.isConnected = true
      },
    ],
  ]

test.each(breaks)('after %s every node has a whole grace', async (_, happens) => {
  const { cluster, clock, serves } = await served()
  await clock.advance(39_000)
  await happens(cluster, clock)
  await clock.advance(35_000)
  expect(serves()).toBe(true)
  await clock.advance(10_000)
  expect(serves()).toBe(false)
})
