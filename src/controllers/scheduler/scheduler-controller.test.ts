import { expect, test } from 'vitest'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { boundPod } from '../objects/pod-object.ts'
import type { Controller } from '../runner/controller.ts'
import { clusterWith } from '../testing/cluster-with.ts'
import { type FakeCluster, refusal } from '../testing/fake-cluster.ts'
import { conditionOf, rawPod } from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { scheduler } from './scheduler-controller.ts'
import { waitingPod, worker } from './testing/placements.ts'

const NO_NODE = 'no nodes available to schedule pods'

function run(cluster: FakeCluster, key = 'shop/web-1', now = 0) {
  return reconcile(cluster, { controller: scheduler, key, now })
}

function podOf(cluster: FakeCluster, key = 'shop/web-1'): JsonObject {
  return objectAt(cluster.get('pods', key))
}

/** Makes every Pod whose changes a test sees reach its end: the records of the cluster, without delays. */
async function settle(clock: { advance(ms: number): Promise<void> }): Promise<void> {
  await clock.advance(1_000)
}

test('a Pod is bound to a node, and an Event reports it', async () => {
  const cluster = clusterWith(['nodes', worker('a')], ['pods', waitingPod(1)])
  expect(await run(cluster)).toEqual(['bind pods/shop/web-1 a', 'record Scheduled shop/web-1'])
  expect(objectAt(podOf(cluster), 'spec')['nodeName']).toBe('a')
  expect(await run(cluster)).toEqual([])
})

test('the Event of a binding is that of Kubernetes', () => {
  const { view } = clusterWith(['nodes', worker('a')], ['pods', waitingPod(1)])
  const [, event] = scheduler.reconcile('shop/web-1', view, 0, 0).writes
  expect(event).toMatchObject({
    verb: 'record',
    namespace: 'shop',
    body: {
      type: 'Normal',
      reason: 'Scheduled',
      message: 'Successfully assigned shop/web-1 to a',
      source: { component: 'default-scheduler' },
      involvedObject: { kind: 'Pod', name: 'web-1', uid: 'pod-1' },
    },
  })
})

test('a Pod that fits nowhere gets the condition and an Event, once', async () => {
  const cluster = clusterWith(['pods', waitingPod(1)])
  expect(await run(cluster)).toEqual([
    'patch pods/shop/web-1',
    'record FailedScheduling shop/web-1',
  ])
  expect(conditionOf(podOf(cluster), 'PodScheduled')).toMatchObject({
    status: 'False',
    reason: 'Unschedulable',
    message: NO_NODE,
  })
  expect(await run(cluster)).toEqual([])
  cluster.put('nodes', worker('a', { spec: { unschedulable: true } }))
  expect(await run(cluster)).toHaveLength(2)
  expect(conditionOf(podOf(cluster), 'PodScheduled')['message']).toBe(
    '0/1 nodes are available: 1 node(s) were unschedulable.',
  )
  expect(await run(cluster)).toEqual([])
})

test.each<[string, JsonObject, JsonObject]>([
  ['another scheduler', { schedulerName: 'mine' }, {}],
  ['a node', { nodeName: 'b' }, {}],
  ['a deletion', {}, { deletionTimestamp: '2030-01-01T00:00:00Z' }],
])('a Pod with %s is left alone', async (_, spec, metadata) => {
  const pod = waitingPod(1, { spec, metadata })
  expect(await run(clusterWith(['nodes', worker('a')], ['pods', pod]))).toEqual([])
})

test('a Pod that has ended without a node is left alone', async () => {
  const pod = { ...waitingPod(1), status: { phase: 'Failed' } }
  expect(await run(clusterWith(['nodes', worker('a')], ['pods', pod]))).toEqual([])
})

test('gates hold a Pod until they are removed', async () => {
  const gated = waitingPod(1, { spec: { schedulingGates: [{ name: 'x' }] } })
  const cluster = clusterWith(['nodes', worker('a')], ['pods', gated])
  const clock = await runControllers(cluster, [scheduler])
  expect(cluster.log).toEqual(['patch pods/shop/web-1'])
  expect(conditionOf(podOf(cluster), 'PodScheduled')).toMatchObject({ reason: 'SchedulingGated' })
  cluster.put('pods', waitingPod(1))
  await settle(clock)
  expect(cluster.log).toContain('bind pods/shop/web-1 a')
})

test('Pods of higher priority are bound first, then in their order', async () => {
  const cluster = clusterWith(['nodes', worker('a', { pods: '3' })])
  for (const [serial, priority] of [0, 0, 5, -1, 5].entries()) {
    cluster.put('pods', waitingPod(serial, { spec: { priority } }))
  }
  await runControllers(cluster, [scheduler])
  const bound = cluster.log.filter((one) => one.startsWith('bind'))
  expect(bound).toEqual(['web-2', 'web-4', 'web-0'].map((name) => `bind pods/shop/${name} a`))
})

test('the bindings that were answered count, before the watch shows them', async () => {
  const cluster = clusterWith(['nodes', worker('a', { pods: '2' })])
  const clock = await runControllers(cluster, [scheduler])
  for (const serial of [1, 2, 3, 4]) cluster.put('pods', waitingPod(serial))
  cluster.hold()
  await settle(clock)
  expect(cluster.log.filter((one) => one.startsWith('bind'))).toHaveLength(2)
  expect(cluster.log.filter((one) => one.startsWith('record Failed'))).toHaveLength(2)
  cluster.release()
})

const full = worker('a', { pods: '1' })
const onA = rawPod(9, { spec: { nodeName: 'a' } })
const ended = rawPod(9, { spec: { nodeName: 'a' }, status: { phase: 'Succeeded' } })

test.each<[string, (cluster: FakeCluster) => void]>([
  ['a node is added', (cluster) => cluster.put('nodes', worker('b'))],
  ['the node takes more', (cluster) => cluster.put('nodes', worker('a', { pods: '2' }))],
  ['a Pod is gone', (cluster) => cluster.remove('pods', 'shop/web-9')],
  ['a Pod has ended', (cluster) => cluster.put('pods', ended)],
])('a Pod that waits is tried again when %s', async (_, change) => {
  const cluster = clusterWith(['nodes', full], ['pods', onA], ['pods', waitingPod(1)])
  const clock = await runControllers(cluster, [scheduler])
  await settle(clock)
  expect(cluster.log).toEqual(['patch pods/shop/web-1', 'record FailedScheduling shop/web-1'])
  change(cluster)
  await settle(clock)
  expect(cluster.log.slice(2, 3)).toEqual([expect.stringContaining('bind pods/shop/web-1')])
})

test('nothing is tried again without such a change, nor by time', async () => {
  const cluster = clusterWith(['nodes', full], ['pods', onA], ['pods', waitingPod(1)])
  const tried: string[] = []
  const watched: Controller = {
    ...scheduler,
    reconcile: (key, ...rest) => {
      tried.push(key)
      return scheduler.reconcile(key, ...rest)
    },
  }
  const clock = await runControllers(cluster, [watched])
  await settle(clock)
  tried.length = 0
  cluster.put('nodes', full)
  cluster.put('pods', rawPod(9, { spec: { nodeName: 'a' }, status: { phase: 'Pending' } }))
  await clock.advance(3_600_000)
  expect(tried).toEqual([])
  cluster.remove('pods', 'shop/web-9')
  await settle(clock)
  expect(tried).toEqual(['waiting', 'shop/web-1'])
})

test('a Pod that depends on others is tried again when one is bound', async () => {
  const term = {
    topologyKey: 'kubernetes.io/hostname',
    labelSelector: { matchLabels: { app: 'db' } },
  }
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } }
  const cluster = clusterWith(
    ['nodes', worker('a')],
    ['pods', waitingPod(1, { spec: { affinity } })],
  )
  const clock = await runControllers(cluster, [scheduler])
  await settle(clock)
  expect(cluster.log).toHaveLength(2)
  cluster.put('pods', waitingPod(2, { metadata: { labels: { app: 'db' } } }))
  await settle(clock)
  expect(cluster.log).toContain('bind pods/shop/web-1 a')
})

test('a Pod that was bound counts, also where the answer to the binding does not show it', async () => {
  const cluster = clusterWith(['nodes', worker('a', { pods: '1' })])
  const clock = await runControllers(cluster, [scheduler])
  cluster.put('pods', waitingPod(1))
  cluster.put('pods', waitingPod(2))
  cluster.hold()
  cluster.intercept = async (write) => {
    if (write.verb !== 'bind') return undefined
    const { key } = write.meta
    cluster.put('pods', { ...podOf(cluster, key), spec: { nodeName: write.nodeName } })
    return { ok: true, value: undefined }
  }
  await settle(clock)
  expect(cluster.log.filter((one) => one.startsWith('bind'))).toEqual(['bind pods/shop/web-1 a'])
  expect(cluster.log).toContain('record Scheduled shop/web-1')
  cluster.release()
})

test('a Pod whose binding is refused is tried again as it is then', async () => {
  const cluster = clusterWith(['nodes', worker('a')])
  const clock = await runControllers(cluster, [scheduler])
  cluster.hold()
  cluster.put('pods', waitingPod(1))
  cluster.release()
  cluster.intercept = async (write) => {
    if (write.verb === 'bind')
      cluster.put('pods', waitingPod(1, { spec: { nodeSelector: { x: 'y' } } }))
    cluster.intercept = async () => undefined
    return undefined
  }
  await settle(clock)
  expect(cluster.log).toEqual([
    'bind pods/shop/web-1 a',
    'read pods/shop/web-1',
    'patch pods/shop/web-1',
    'record FailedScheduling shop/web-1',
  ])
})

/** A scheduler whose bindings wait for `answer`. */
async function scheduling(count: number, ...nodes: readonly JsonObject[]) {
  const serials = Array.from({ length: count }, (_, index) => index + 1)
  const waiting = serials.map((serial) => ['pods', waitingPod(serial)] as const)
  const cluster = clusterWith(...nodes.map((one) => ['nodes', one] as const), ...waiting)
  const sent: string[] = []
  const answers: ((refused: boolean) => void)[] = []
  cluster.intercept = (write) => {
    if (write.verb !== 'bind') return Promise.resolve(undefined)
    sent.push(`${write.meta.name} ${write.nodeName}`)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    answers.push(resolve)
    return promise.then((isRefused) => (isRefused ? refusal(500) : undefined))
  }
  const clock = await runControllers(cluster, [scheduler])
  const answer = async (isRefused: boolean): Promise<void> => {
    answers.shift()?.(isRefused)
    await settle(clock)
  }
  return { cluster, sent, answer }
}

test('Pods are bound while the answers to earlier bindings are awaited, and these count', async () => {
  const { cluster, sent, answer } = await scheduling(
    3,
    worker('a', { pods: '2' }),
    worker('b', { pods: '1' }),
  )
  expect(sent).toHaveLength(3)
  expect(Object.groupBy(sent, (one) => one.slice(-1))).toMatchObject({
    a: { length: 2 },
    b: { length: 1 },
  })
  for (const _ of sent) await answer(false)
  const nodes = cluster.all('pods').map((pod) => stringAt(pod, 'spec', 'nodeName'))
  expect(Object.groupBy(nodes, (name) => name)).toMatchObject({
    a: { length: 2 },
    b: { length: 1 },
  })
})

test('the answers to at most 17 bindings are awaited', async () => {
  const { sent, answer } = await scheduling(30, worker('a'))
  expect(sent).toHaveLength(17)
  await answer(false)
  expect(sent).toHaveLength(18)
  for (let left = 29; left > 0; left--) await answer(false)
  expect(sent).toHaveLength(30)
})

test('a binding that fails gives its place to others', async () => {
  const { cluster, sent, answer } = await scheduling(3, worker('a', { pods: '1' }))
  expect(sent).toEqual(['web-1 a'])
  await answer(true)
  expect(sent).toHaveLength(2)
  await answer(false)
  expect(
    cluster.all('pods').filter((pod) => objectAt(pod, 'spec')['nodeName'] === 'a'),
  ).toHaveLength(1)
})

test('a Pod whose binding was refused is tried again with all that wait', () => {
  const { view } = clusterWith(['nodes', worker('a')], ['pods', waitingPod(1)])
  const pod = view.pods.get('shop/web-1')!
  const change = { key: 'shop/web-1', before: boundPod(pod, 'a'), after: pod }
  const keys = [...(scheduler.watches.pods?.(change, view) ?? [])]
  expect(keys.map((key) => scheduler.priority?.(key, view))).toEqual([0, Number.NEGATIVE_INFINITY])
})
