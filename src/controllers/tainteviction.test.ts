import { expect, test } from 'vitest'
import { timestamp } from '../lib/duration.ts'
import { type JsonObject, stringAt } from '../lib/json.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { nodeLifecycleController } from './nodelifecycle-controller.ts'
import { createNodeTaintsController } from './nodetaints-controller.ts'
import { scheduler } from './scheduler/scheduler-controller.ts'
import { taintEvictionController } from './tainteviction-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import { createFakeCluster } from './testing/fake-cluster.ts'
import { conditionOf, rawPod } from './testing/fixtures.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'
import { replicaSetController } from './workloads/replicaset-controller.ts'

const NOW = new FakeClock().now()
const UNREACHABLE = 'node.kubernetes.io/unreachable'
const MARKED = ['patch pods/shop/web-1']
const DELETED = ['delete pods/shop/web-1', 'record TaintManagerEviction shop/web-1']

function taint(key: string, agoSeconds = 0, effect = 'NoExecute'): JsonObject {
  return { key, value: 'v', effect, timeAdded: timestamp(NOW - 1000 * agoSeconds) }
}

function tolerating(key: string, tolerationSeconds?: number): JsonObject {
  const limit = tolerationSeconds === undefined ? {} : { tolerationSeconds }
  return { key, operator: 'Exists', effect: 'NoExecute', ...limit }
}

function nodeWith(taints: readonly JsonObject[]): JsonObject {
  return { metadata: { name: 'node-a', uid: 'node' }, spec: { taints: [...taints] } }
}

function pod(tolerations: readonly JsonObject[], boundAgo = 3600): JsonObject {
  const lastTransitionTime = timestamp(NOW - 1000 * boundAgo)
  const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime }]
  return rawPod(1, {
    spec: { nodeName: 'node-a', tolerations: [...tolerations] },
    status: { conditions },
  })
}

/** The seconds until the Pod is deleted; 0: at once; infinite: it stays. */
function untilDeleted(object: JsonObject, node: JsonObject, since = 0): number {
  const cluster = clusterWith(['pods', object], ['nodes', node])
  const { writes, againMs = Number.POSITIVE_INFINITY } = taintEvictionController.reconcile(
    'shop/web-1',
    cluster.view,
    NOW,
    since,
  )
  return writes.length > 0 ? 0 : againMs / 1000
}

const NEVER = Number.POSITIVE_INFINITY

test.each<[string, readonly JsonObject[], readonly JsonObject[], number]>([
  ['no taint', [], [], NEVER],
  ['one that it does not tolerate', [taint('x')], [tolerating('y')], 0],
  ['one for new Pods only', [taint('x', 0, 'NoSchedule')], [], NEVER],
  ['one that it tolerates', [taint('x')], [tolerating('x')], NEVER],
  [
    'one whose value it tolerates',
    [taint('x')],
    [{ key: 'x', value: 'v', effect: 'NoExecute' }],
    NEVER,
  ],
  ['another value', [taint('x')], [{ key: 'x', value: 'w', effect: 'NoExecute' }], 0],
  ['another effect', [taint('x')], [{ key: 'x', operator: 'Exists', effect: 'NoSchedule' }], 0],
  ['one for a minute, put now', [taint('x')], [tolerating('x', 60)], 60],
  ['one for a minute, put before', [taint('x', 20)], [tolerating('x', 60)], 40],
  ['one for a minute, which is over', [taint('x', 60)], [tolerating('x', 60)], 0],
  ['one for no time', [taint('x')], [tolerating('x', 0)], 0],
  ['one for less than no time', [taint('x')], [tolerating('x', -5)], 0],
  [
    'two, the shorter of which counts',
    [taint('x'), taint('y', 50)],
    [tolerating('x', 100), tolerating('y', 70)],
    20,
  ],
  [
    'two, one of them for ever',
    [taint('x'), taint('y')],
    [tolerating('x'), tolerating('y', 70)],
    70,
  ],
  ['two, and tolerates one', [taint('x'), taint('y')], [tolerating('x')], 0],
  ['one by two tolerations', [taint('x')], [tolerating('x', 30), tolerating('x', 10)], 30],
])('a Pod on a node with %s', (_, taints, tolerations, expected) => {
  expect(untilDeleted(pod(tolerations), nodeWith(taints))).toBe(expected)
})

test('for a Pod that got its node after the taint, the time counts from then', () => {
  const node = nodeWith([taint('x', 1000)])
  expect(untilDeleted(pod([tolerating('x', 60)], 20), node)).toBe(40)
  const metadata = { creationTimestamp: timestamp(NOW - 30_000), name: 'web-1', namespace: 'shop' }
  const unknown = { ...pod([tolerating('x', 60)]), metadata, status: {} }
  expect(untilDeleted(unknown, node)).toBe(30)
})

test('a taint without a time is as old as now, until it has one', () => {
  const undated = { key: 'x', effect: 'NoExecute' }
  expect(untilDeleted(pod([tolerating('x', 60)]), nodeWith([undated]))).toBe(60)
  expect(untilDeleted(pod([]), nodeWith([undated]))).toBe(0)
})

test('a replica that begins to watch waits for heartbeats before it believes that a node is dead', () => {
  const dead = nodeWith([taint(UNREACHABLE, 1000)])
  const object = pod([tolerating(UNREACHABLE, 300)])
  expect(untilDeleted(object, dead, NOW - 10_000)).toBe(30)
  expect(untilDeleted(object, dead, NOW - 40_000)).toBe(0)
  expect(untilDeleted(pod([]), dead, NOW - 10_000)).toBe(30)
  expect(untilDeleted(pod([]), nodeWith([taint('x')]), NOW)).toBe(0)
})

test('an eviction is announced in the Pod, reported, and made once', async () => {
  const cluster = clusterWith(['pods', pod([])], ['nodes', nodeWith([taint('x')])])
  const run = () =>
    reconcile(cluster, { controller: taintEvictionController, key: 'shop/web-1', now: NOW })
  expect(await run()).toEqual(MARKED)
  expect(conditionOf(cluster.get('pods', 'shop/web-1'), 'DisruptionTarget')).toEqual({
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
    lastTransitionTime: timestamp(NOW),
  })
  const [deletion] = taintEvictionController.reconcile('shop/web-1', cluster.view, NOW, 0).writes
  const [event] = (deletion?.verb === 'delete' && deletion.done?.('')) || []
  expect(event).toMatchObject({
    namespace: 'shop',
    body: {
      type: 'Normal',
      reason: 'TaintManagerEviction',
      message: 'Marking for deletion Pod shop/web-1',
      source: { component: 'taint-controller' },
    },
  })
  expect(await run()).toEqual(DELETED)
  expect(await run()).toEqual([])
})

test('a Pod without a node, or whose Node is not there, stays', () => {
  const unbound = rawPod(1, { spec: { nodeName: '' } })
  expect(untilDeleted(unbound, nodeWith([taint('x')]))).toBe(NEVER)
  const elsewhere = rawPod(1, { spec: { nodeName: 'node-b' } })
  expect(untilDeleted(elsewhere, nodeWith([taint('x')]))).toBe(NEVER)
})

test('only Pods of nodes that evict are looked at', () => {
  const cluster = clusterWith(['pods', pod([])], ['nodes', nodeWith([taint('x', 0, 'NoSchedule')])])
  const after = cluster.view.pods.get('shop/web-1')!
  const affected = () => [
    ...taintEvictionController.watches.pods!(
      { key: 'shop/web-1', before: undefined, after },
      cluster.view,
    ),
  ]
  expect(affected()).toEqual([])
  const before = cluster.view.nodes.get('node-a')!
  cluster.put('nodes', nodeWith([taint('x')]))
  const now = cluster.view.nodes.get('node-a')!
  expect(affected()).toEqual(['shop/web-1'])
  const ofNode = (change: { before: typeof now; after: typeof now }) => [
    ...taintEvictionController.watches.nodes!({ key: 'node-a', ...change }, cluster.view),
  ]
  expect(ofNode({ before, after: now })).toEqual(['shop/web-1'])
  expect(ofNode({ before: now, after: { ...now, zone: 'other' } })).toEqual([])
})

test.each<[string, (cluster: ReturnType<typeof createFakeCluster>) => void, boolean]>([
  ['nothing happens', () => undefined, true],
  ['the taint goes', (cluster) => cluster.put('nodes', nodeWith([])), false],
  ['the Node goes', (cluster) => cluster.remove('nodes', 'node-a'), false],
  ['it tolerates more', (cluster) => cluster.put('pods', pod([tolerating(UNREACHABLE)])), false],
])('the time runs out if meanwhile %s', async (_, happens, isDeleted) => {
  const clock = new FakeClock()
  const cluster = createFakeCluster(clock)
  cluster.put('pods', pod([tolerating(UNREACHABLE, 300)]))
  cluster.put('nodes', nodeWith([taint(UNREACHABLE)]))
  await runControllers(cluster, [taintEvictionController], { clock })
  await clock.advance(299_000)
  expect(cluster.log).toEqual([])
  happens(cluster)
  await clock.advance(1000)
  const writes = isDeleted ? [...MARKED, ...DELETED] : []
  expect(cluster.log).toEqual(writes)
  await clock.advance(3_600_000)
  expect(cluster.log).toEqual(writes)
})

/** Three nodes, of which those in `alive` send heartbeats, and a ReplicaSet of six Pods. */
async function replicas(tolerations: readonly JsonObject[]) {
  const clock = new FakeClock()
  const cluster = createFakeCluster(clock)
  const beat = (name: string): void =>
    cluster.put('leases', {
      metadata: { name, namespace: 'kube-node-lease', uid: name },
      spec: { renewTime: new Date(clock.now()).toISOString() },
    })
  for (const name of ['a', 'b', 'c']) {
    const conditions = [{ type: 'Ready', status: 'True' }]
    const status = { conditions, allocatable: { pods: '110', cpu: '8', memory: '8Gi' } }
    cluster.put('nodes', { metadata: { name, uid: name }, status })
    beat(name)
  }
  const labels = { app: 'web' }
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'main' }], tolerations: [...tolerations] },
  }
  const spec = { replicas: 6, selector: { matchLabels: labels }, template }
  cluster.put('replicasets', { metadata: { name: 'web', namespace: 'shop', uid: 'rs' }, spec })
  const controllers = [
    nodeLifecycleController,
    createNodeTaintsController(),
    taintEvictionController,
    replicaSetController,
    scheduler,
  ]
  await runControllers(cluster, controllers, { clock })
  const pass = async (seconds: number, alive: readonly string[]): Promise<void> => {
    for (let left = seconds; left > 0; left -= 10) {
      for (const name of alive) beat(name)
      await clock.advance(1000 * Math.min(10, left))
    }
  }
  /** How many Pods that stay are on each node. */
  const placed = () => {
    const kept = cluster
      .all('pods')
      .filter((one) => stringAt(one, 'metadata', 'deletionTimestamp') === '')
    const count = (name: string) => kept.filter((one) => stringAt(one, 'spec', 'nodeName') === name)
    return ['a', 'b', 'c'].map((name) => count(name).length)
  }
  return { pass, placed }
}

test('Pods of a dead node are replaced on other nodes when they no longer tolerate it', async () => {
  const { pass, placed } = await replicas([tolerating(UNREACHABLE, 300)])
  await pass(60, ['a', 'b', 'c'])
  expect(placed()).toEqual([2, 2, 2])
  await pass(300, ['a', 'b'])
  expect(placed()).toEqual([2, 2, 2])
  await pass(60, ['a', 'b'])
  expect(placed()).toEqual([3, 3, 0])
  await pass(600, ['a', 'b', 'c'])
  expect(placed()).toEqual([3, 3, 0])
})

test('no Pod is deleted while a node is away for less, nor when all nodes are', async () => {
  const { pass, placed } = await replicas([tolerating(UNREACHABLE, 300)])
  await pass(60, ['a', 'b', 'c'])
  await pass(300, ['a', 'b'])
  await pass(600, ['a', 'b', 'c'])
  expect(placed()).toEqual([2, 2, 2])
  await pass(3600, [])
  expect(placed()).toEqual([2, 2, 2])
})
