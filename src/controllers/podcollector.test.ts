import { expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../lib/json.ts'
import { createFinishedPodsController, podCollector } from './podcollector-controller.ts'
import { all, clusterWith } from './testing/cluster-with.ts'
import { createFakeCluster, type FakeCluster } from './testing/fake-cluster.ts'
import { conditionOf, type PodParts, rawPod } from './testing/fixtures.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

const T0 = Date.parse('2026-02-01T00:00:00Z')
const NODE = { metadata: { name: 'node-a', uid: 'node' } }
const DELETED = 'delete pods/shop/web-1'
const PATCHED = 'patch pods/shop/web-1'

function leaving(seconds: number, spec: JsonObject = {}, metadata: JsonObject = {}): PodParts {
  return {
    spec,
    metadata: {
      deletionTimestamp: '2026-02-01T00:00:30Z',
      deletionGracePeriodSeconds: seconds,
      ...metadata,
    },
  }
}

function withPod(parts: PodParts, ...nodes: readonly JsonObject[]): FakeCluster {
  return clusterWith(...all('nodes', nodes), ['pods', rawPod(1, parts)])
}

function look(cluster: FakeCluster, ms: number): Promise<readonly string[]> {
  return reconcile(cluster, { controller: podCollector, key: 'shop/web-1', now: T0 + ms })
}

function disruption(cluster: FakeCluster): string {
  const found = conditionOf(cluster.get('pods', 'shop/web-1'), 'DisruptionTarget')
  return ['status', 'reason', 'lastTransitionTime'].map((key) => stringAt(found, key)).join()
}

const kept: readonly (readonly [string, PodParts, readonly JsonObject[]])[] = [
  ['at work on its node', {}, [NODE]],
  ['that leaves its node', leaving(30), [NODE]],
  ['that is not bound', { spec: { nodeName: '' } }, []],
  ['that only finalizers hold', leaving(0, { nodeName: '' }, { finalizers: ['x'] }), []],
]

test.each(kept)('a pod %s stays', async (_, parts, nodes) => {
  const cluster = withPod(parts, ...nodes)
  expect(await look(cluster, 1e9)).toEqual([])
})

test('a terminating Pod without a node is removed when its grace period is over', async () => {
  const cluster = withPod(leaving(30, { nodeName: '' }))
  expect(await look(cluster, 29_999)).toEqual([])
  expect(podCollector.reconcile('shop/web-1', cluster.view, T0 + 20_000, 0).againMs).toBe(10_000)
  expect(await look(cluster, 30_000)).toEqual([DELETED])
  expect(cluster.all('pods')).toEqual([])
})

test('a terminating Pod whose Node is gone is removed when its grace period is over', async () => {
  const cluster = withPod(leaving(30))
  expect(await look(cluster, 0)).toEqual([PATCHED])
  expect(await look(cluster, 29_999)).toEqual([])
  expect(await look(cluster, 30_000)).toEqual([DELETED])
  expect(cluster.all('pods')).toEqual([])
})

test('a Pod is removed 40 s after its Node, whatever its grace period', async () => {
  for (const parts of [{}, leaving(3600, {}, { deletionTimestamp: '2026-02-01T01:00:00Z' })]) {
    const cluster = withPod(parts)
    expect(await look(cluster, 0)).toEqual([PATCHED])
    expect(disruption(cluster)).toBe('True,DeletionByPodGC,2026-02-01T00:00:00Z')
    expect(await look(cluster, 39_999)).toEqual([])
    expect(await look(cluster, 40_000)).toEqual([DELETED])
    expect(cluster.all('pods')).toEqual([])
  }
})

test('a disruption that another controller announced is replaced, and the 40 s begin then', async () => {
  const since = { lastTransitionTime: '2026-01-01T00:00:00Z' }
  const evicted = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }
  const cluster = withPod({ status: { conditions: [{ ...evicted, ...since }] } })
  expect(await look(cluster, 0)).toEqual([PATCHED])
  expect(disruption(cluster)).toBe('True,DeletionByPodGC,2026-02-01T00:00:00Z')
  expect(await look(cluster, 39_999)).toEqual([])
})

test('a Pod that waits for its finalizers is deleted only once', async () => {
  const cluster = withPod(leaving(0, {}, { finalizers: ['x'] }))
  expect(await look(cluster, 0)).toEqual([PATCHED])
  expect(await look(cluster, 1e9)).toEqual([])
})

test('a node that returns in time keeps its pods', async () => {
  const cluster = withPod({})
  await look(cluster, 0)
  cluster.put('nodes', NODE)
  expect(await look(cluster, 30_000)).toEqual([PATCHED])
  expect(disruption(cluster)).toBe('False,NodeReturned,2026-02-01T00:00:30Z')
  expect(await look(cluster, 1e9)).toEqual([])
  cluster.remove('nodes', 'node-a')
  expect(await look(cluster, 50_000)).toEqual([PATCHED])
  expect(await look(cluster, 89_999)).toEqual([])
  expect(await look(cluster, 90_000)).toEqual([DELETED])
})

test('a node that only the caches miss keeps its pods', async () => {
  const cluster = withPod({})
  await look(cluster, 0)
  cluster.hold()
  cluster.put('nodes', NODE)
  await expect(look(cluster, 40_000)).rejects.toThrow('still there')
})

test('the Pods of a deleted Node are reconciled at once, and again after 40 s', async () => {
  const cluster = withPod({}, NODE)
  const clock = await runControllers(cluster, [podCollector])
  expect(cluster.log).toEqual([])
  cluster.remove('nodes', 'node-a')
  await clock.advance(0)
  expect(cluster.log).toEqual([PATCHED])
  await clock.advance(40_000)
  expect(cluster.log).toEqual([PATCHED, DELETED])
})

test('of too many finished Pods the oldest are deleted', async () => {
  const cluster = createFakeCluster()
  const put = (serial: number, phase: string, metadata: JsonObject = {}): void => {
    const creationTimestamp = `2026-01-0${serial}T00:00:00Z`
    cluster.put(
      'pods',
      rawPod(serial, { metadata: { creationTimestamp, ...metadata }, status: { phase } }),
    )
  }
  put(1, 'Running')
  put(2, 'Failed')
  put(3, 'Succeeded')
  put(4, 'Succeeded', { deletionTimestamp: '2026-02-01T00:00:00Z', finalizers: ['x'] })
  const clock = await runControllers(cluster, [createFinishedPodsController(2)])
  expect(cluster.log).toEqual([])
  put(5, 'Running')
  await clock.advance(0)
  expect(cluster.log).toEqual([])
  put(5, 'Failed')
  await clock.advance(0)
  expect(cluster.log).toEqual(['delete pods/shop/web-2'])
})

test('12,500 finished pods are kept', () => {
  const cluster = createFakeCluster()
  for (let serial = 0; serial <= 12_500; serial++) {
    cluster.put('pods', rawPod(serial, { status: { phase: 'Failed' } }))
  }
  const { writes } = createFinishedPodsController().reconcile('finished', cluster.view, 0, 0)
  expect(writes).toHaveLength(1)
})
