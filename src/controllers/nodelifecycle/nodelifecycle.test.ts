import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/fake-clock.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { endpointsController } from '../endpoints/endpoints-controller.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import { NOT_READY, rawPod, rawService } from '../testing/fixtures.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { reconcile } from '../testing/settle.ts'
import { nodeOfLease } from './heartbeat.ts'
import { nodeLifecycleController } from './nodelifecycle-controller.ts'
import { podReadinessController } from './podreadiness-controller.ts'

const T0 = Date.parse('2026-02-01T00:00:00Z')
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
  const conditions = arrayAt(cluster.get(collection, key), 'status', 'conditions')
  const found = conditions.find((one) => stringAt(one, 'type') === 'Ready')
  return [stringAt(found, 'status'), stringAt(found, 'reason')].filter((one) => one !== '').join()
}

/** The writes at `T0 + ms`. */
function look(cluster: FakeCluster, ms: number): Promise<readonly string[]> {
  return reconcile(cluster, {
    controller: nodeLifecycleController,
    key: 'node-a',
    now: T0 + ms,
  })
}

const silence: readonly (readonly [string, readonly JsonObject[], JsonObject, string, boolean])[] =
  [
    ['a Lease', [lease(T0)], node('True'), 'Unknown,NodeStatusUnknown', true],
    ['a heartbeat of the status', [], node('True', T0), 'Unknown,NodeStatusUnknown', true],
    ['the later of both', [lease(T0)], node('True', T0 - 1e6), 'Unknown,NodeStatusUnknown', true],
    ['a node not ready', [lease(T0)], node('False'), 'Unknown,SilentWhileNotReady', true],
    ['a node that never said', [lease(T0)], node(), 'Unknown,NodeStatusNeverUpdated', true],
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
  const cluster = createFakeCluster()
  for (const one of leases) cluster.put('leases', one)
  cluster.put('nodes', object)
  expect(await look(cluster, 39_999)).toEqual([])
  expect(await look(cluster, 40_000)).toEqual(isLost ? [PATCH, EVENT] : [])
  expect(ready(cluster, 'nodes', 'node-a')).toBe(wanted)
  expect(await look(cluster, 50_000)).toEqual([])
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
  const cluster = createFakeCluster()
  cluster.put('nodes', object)
  cluster.put('leases', lease(T0))
  await look(cluster, 40_000)
  cluster.put('leases', lease(T0 + 60_000))
  await look(cluster, 60_000)
  expect(ready(cluster, 'nodes', 'node-a')).toBe(wanted)
  expect(await look(cluster, 60_000)).toEqual([])
})

test('only Leases of nodes concern nodes', () => {
  const keys = ['kube-node-lease/node-a', 'shop/node-a']
  expect(keys.map(nodeOfLease)).toEqual([['node-a'], []])
})

test('a node whose clock is ahead is looked at again within the grace period', () => {
  const cluster = createFakeCluster()
  cluster.put('nodes', node('True'))
  cluster.put('leases', lease(T0 + 1e12))
  const { againMs } = nodeLifecycleController.reconcile('node-a', cluster.view, T0)
  expect(againMs).toBe(40_000)
})

test('pods lose their readiness with their node and get back what was taken', async () => {
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

test('a node falls silent and returns: so do the endpoints of its pods', async () => {
  const cluster = createFakeCluster()
  const clock = new FakeClock()
  cluster.put('services', rawService())
  cluster.put('pods', rawPod(1))
  cluster.put('nodes', node('True'))
  cluster.put('leases', lease(clock.now()))
  const controllers = [nodeLifecycleController, podReadinessController, endpointsController]
  await runControllers(cluster, controllers, clock)
  const serving = (): boolean => {
    const [subset] = arrayAt(cluster.get('endpoints', 'shop/web'), 'subsets')
    return arrayAt(subset, 'addresses').length === 1
  }
  await clock.advance(39_000)
  expect(serving()).toBe(true)
  await clock.advance(1000)
  expect(serving()).toBe(false)
  cluster.put('leases', lease(clock.now()))
  await clock.advance(0)
  expect(serving()).toBe(true)
})
