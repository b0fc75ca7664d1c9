import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonObject, objectAt } from '../lib/json.ts'
import { disruptionController } from './disruption-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import { reconcile } from './testing/reconcile.ts'

const NOW = Date.UTC(2030, 0, 1)
const AT = '2030-01-01T00:00:00Z'
const LABELS = { app: 'web' }

function pod(name: string, parts: { ready?: boolean; metadata?: JsonObject; phase?: string } = {}) {
  const { ready = true, metadata = {}, phase = 'Running' } = parts
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }]
  return {
    metadata: { name, namespace: 'shop', labels: LABELS, ...metadata },
    status: { phase, conditions },
  }
}

function budget(spec: JsonObject, status: JsonObject = {}): JsonObject {
  const metadata = { name: 'web', namespace: 'shop', generation: 2 }
  return { metadata, spec: { selector: { matchLabels: LABELS }, ...spec }, status }
}

function scene(object: JsonObject, ...pods: readonly JsonObject[]) {
  const cluster = clusterWith(
    ['poddisruptionbudgets', object],
    ...pods.map((one) => ['pods', one] as const),
  )
  const run = (now = NOW) => reconcile(cluster, { controller: disruptionController, now })
  const status = () => objectAt(cluster.get('poddisruptionbudgets', 'shop/web'), 'status')
  return { cluster, run, status }
}

const MARKED = { metadata: { deletionTimestamp: AT } }

test.each<[string, number, readonly JsonObject[], JsonObject]>([
  [
    'more than enough',
    1,
    [pod('a'), pod('b'), pod('c')],
    { currentHealthy: 3, disruptionsAllowed: 2, expectedPods: 3 },
  ],
  [
    'enough',
    2,
    [pod('a'), pod('b')],
    { currentHealthy: 2, disruptionsAllowed: 0, expectedPods: 2 },
  ],
  [
    'too few',
    2,
    [pod('a'), pod('b', { ready: false })],
    { currentHealthy: 1, disruptionsAllowed: 0 },
  ],
  [
    'one that is being deleted',
    1,
    [pod('a'), pod('b', MARKED)],
    { currentHealthy: 1, expectedPods: 2 },
  ],
  [
    'one that has ended',
    0,
    [pod('a', { phase: 'Failed' })],
    { currentHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  ],
  ['none', 0, [], { disruptionsAllowed: 0, expectedPods: 0 }],
])('of %s', async (_, minAvailable, pods, expected) => {
  const { run, status } = scene(budget({ minAvailable }), ...pods)
  await run()
  expect(status()).toMatchObject({
    ...expected,
    desiredHealthy: minAvailable,
    observedGeneration: 2,
  })
  expect(await run()).toEqual([])
})

test('a Pod called constructor counts like any other, and its eviction is forgotten in time', async () => {
  const status = { disruptedPods: { constructor: '2029-12-31T23:00:00Z' } }
  const scenery = scene(budget({ minAvailable: 1 }, status), pod('constructor'), pod('b'))
  await scenery.run()
  expect(scenery.status()).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1 })
  expect(Object.keys(objectAt(scenery.status(), 'disruptedPods'))).toEqual([])
})

test('the condition says whether an eviction is permitted', async () => {
  const { run, status, cluster } = scene(budget({ minAvailable: 1 }), pod('a'), pod('b'))
  await run()
  const allowed = { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods' }
  expect(status()).toMatchObject({ conditions: [allowed] })
  cluster.put('pods', pod('b', { ready: false }))
  await run()
  const refused = { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }
  expect(status()).toMatchObject({ conditions: [refused] })
})

type Kind = 'Deployment' | 'ReplicaSet' | 'StatefulSet' | 'DaemonSet'

/** How an object refers to its controller, whose uid is its name. */
function owner(kind: Kind, name: string): JsonObject {
  return { apiVersion: 'apps/v1', kind, name, uid: name, controller: true }
}

function controlled(kind: Kind, name: string): JsonObject {
  return { ownerReferences: [owner(kind, name)] }
}

function workload(name: string, replicas: number, metadata: JsonObject = {}): JsonObject {
  const spec = { replicas, selector: { matchLabels: LABELS } }
  return { metadata: { name, namespace: 'shop', uid: name, ...metadata }, spec }
}

function podsOf(kind: Kind, owner: string, count: number): readonly JsonObject[] {
  return Array.from({ length: count }, (_, index) =>
    pod(`${owner}-${index}`, { metadata: controlled(kind, owner) }),
  )
}

test.each<[JsonObject, readonly [replicas: number, pods: number], JsonObject]>([
  [{ maxUnavailable: 1 }, [3, 3], { expectedPods: 3, desiredHealthy: 2, disruptionsAllowed: 1 }],
  [{ maxUnavailable: 1 }, [3, 2], { expectedPods: 3, desiredHealthy: 2, disruptionsAllowed: 0 }],
  [{ maxUnavailable: 1 }, [3, 4], { expectedPods: 3, desiredHealthy: 2, disruptionsAllowed: 2 }],
  [{ maxUnavailable: 0 }, [3, 3], { expectedPods: 3, desiredHealthy: 3, disruptionsAllowed: 0 }],
  [{ maxUnavailable: 9 }, [3, 3], { expectedPods: 3, desiredHealthy: 0, disruptionsAllowed: 3 }],
  [{ maxUnavailable: '30%' }, [4, 4], { expectedPods: 4, desiredHealthy: 2 }],
  [{ maxUnavailable: '100%' }, [4, 4], { desiredHealthy: 0, disruptionsAllowed: 4 }],
  [{ minAvailable: '51%' }, [4, 4], { expectedPods: 4, desiredHealthy: 3, disruptionsAllowed: 1 }],
  [{ minAvailable: '50%' }, [4, 3], { expectedPods: 4, desiredHealthy: 2, disruptionsAllowed: 1 }],
  [{ minAvailable: '100%' }, [2, 2], { desiredHealthy: 2, disruptionsAllowed: 0 }],
  [{ minAvailable: '0%' }, [0, 1], { expectedPods: 0, disruptionsAllowed: 0 }],
  [{}, [3, 3], { expectedPods: 0, desiredHealthy: 0, disruptionsAllowed: 0 }],
])('%j of a workload that should have and has %j Pods', async (spec, [replicas, has], expected) => {
  const { run, status, cluster } = scene(budget(spec), ...podsOf('StatefulSet', 'db', has))
  cluster.put('statefulsets', workload('db', replicas))
  await run()
  expect(status()).toMatchObject({ currentHealthy: has, observedGeneration: 2, ...expected })
  expect(await run()).toEqual([])
})

test('two ReplicaSets of one Deployment count as their Deployment, others by themselves', async () => {
  const { run, status, cluster } = scene(
    budget({ maxUnavailable: 1 }),
    ...podsOf('ReplicaSet', 'old', 2),
    ...podsOf('ReplicaSet', 'new', 2),
    ...podsOf('ReplicaSet', 'alone', 1),
    ...podsOf('Deployment', 'odd', 1),
  )
  cluster.put('deployments', workload('web', 3))
  cluster.put('deployments', workload('odd', 7))
  cluster.put('replicasets', workload('old', 2, controlled('Deployment', 'web')))
  cluster.put('replicasets', workload('new', 2, controlled('Deployment', 'web')))
  cluster.put('replicasets', workload('alone', 20))
  await run()
  expect(status()).toMatchObject({ expectedPods: 30, desiredHealthy: 29 })
})

test.each<[string, JsonObject]>([
  ['its Deployment is gone', controlled('Deployment', 'web')],
  ['it has another one with the name', controlled('Deployment', 'namesake')],
])('the Pods of a ReplicaSet count by itself where %s', async (_, metadata) => {
  const { run, status, cluster } = scene(
    budget({ maxUnavailable: 1 }),
    ...podsOf('ReplicaSet', 'set', 2),
  )
  cluster.put('deployments', { ...workload('namesake', 9, { uid: 'other' }) })
  cluster.put('replicasets', workload('set', 5, metadata))
  await run()
  expect(status()).toMatchObject({ expectedPods: 5 })
})

test.each<[string, JsonObject, string, string]>([
  ['nobody controls', {}, 'NoControllerRef', 'found no controller ref for pod "a"'],
  [
    'a DaemonSet controls',
    controlled('DaemonSet', 'agents'),
    'NoControllers',
    'found no controllers for pod "a"',
  ],
  [
    'a workload controls that is not there',
    controlled('StatefulSet', 'gone'),
    'NoControllers',
    'found no controllers for pod "a"',
  ],
  [
    'another workload of the name controls',
    { ownerReferences: [{ ...owner('StatefulSet', 'db'), uid: 'earlier' }] },
    'NoControllers',
    'found no controllers for pod "a"',
  ],
  [
    'a kind of another group controls',
    { ownerReferences: [{ ...owner('StatefulSet', 'db'), apiVersion: 'example.com/v1' }] },
    'NoControllers',
    'found no controllers for pod "a"',
  ],
])(
  'of a Pod that %s it is not known how many there should be',
  async (_, metadata, reason, why) => {
    const before = { currentHealthy: 1, disruptionsAllowed: 1, observedGeneration: 1 }
    const { run, status, cluster } = scene(
      budget({ maxUnavailable: 1 }, before),
      ...podsOf('StatefulSet', 'db', 1),
      pod('a', { metadata }),
      pod('b'),
    )
    cluster.put('statefulsets', workload('db', 1))
    const { writes } = disruptionController.reconcile('shop/web', cluster.view, NOW, 0)
    const component = 'controllermanager'
    expect(writes.slice(1)).toMatchObject([
      { body: { reason, message: why, type: 'Warning', source: { component } } },
      {
        body: {
          reason: 'CalculateExpectedPodCountFailed',
          message: `Failed to calculate the number of expected pods: ${why}`,
        },
      },
    ])
    expect(await run()).toEqual([
      'patch poddisruptionbudgets/shop/web',
      `record ${reason} shop/web`,
      'record CalculateExpectedPodCountFailed shop/web',
    ])
    const condition = { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed' }
    expect(status()).toMatchObject({
      ...before,
      disruptionsAllowed: 0,
      conditions: [{ ...condition, message: why, observedGeneration: 1 }],
    })
    expect(await run()).toEqual([])
    const known = cluster.get('poddisruptionbudgets', 'shop/web')!
    cluster.put('poddisruptionbudgets', {
      ...known,
      status: { ...status(), disruptionsAllowed: 1 },
    })
    expect(await run()).toEqual(['patch poddisruptionbudgets/shop/web'])
  },
)

test('when the workload is there again, evictions are permitted again', async () => {
  const { run, status, cluster } = scene(
    budget({ maxUnavailable: 1 }),
    ...podsOf('StatefulSet', 'db', 2),
  )
  await run()
  expect(status()).toMatchObject({ conditions: [{ reason: 'SyncFailed' }] })
  cluster.put('statefulsets', workload('db', 2))
  await run()
  expect(status()).toMatchObject({
    disruptionsAllowed: 1,
    observedGeneration: 2,
    conditions: [{ status: 'True', reason: 'SufficientPods', message: '' }],
  })
})

test('Pods that have ended are not asked for their controller', async () => {
  const ended = pod('a', { phase: 'Succeeded' })
  const { run, status, cluster } = scene(
    budget({ maxUnavailable: 1 }),
    ended,
    ...podsOf('StatefulSet', 'db', 2),
  )
  cluster.put('statefulsets', workload('db', 2))
  await run()
  expect(status()).toMatchObject({ expectedPods: 2, currentHealthy: 2, disruptionsAllowed: 1 })
})

test('a budget without Pods says so, once', async () => {
  const { run, cluster } = scene(budget({ minAvailable: 1 }))
  expect(await run()).toEqual(['patch poddisruptionbudgets/shop/web', 'record NoPods shop/web'])
  expect(await run()).toEqual([])
  cluster.put('pods', pod('a'))
  expect(await run()).toEqual(['patch poddisruptionbudgets/shop/web'])
})

test('a change of the size of a workload concerns the budgets that take it', () => {
  const { cluster } = scene(budget({ maxUnavailable: 1 }))
  const other = { metadata: { name: 'other', namespace: 'shop' }, spec: { minAvailable: 1 } }
  cluster.put('poddisruptionbudgets', other)
  const share = { metadata: { name: 'share', namespace: 'shop' }, spec: { minAvailable: '1%' } }
  cluster.put('poddisruptionbudgets', share)
  cluster.put('statefulsets', workload('db', 2))
  const after = cluster.view.statefulsets.get('shop/db')!
  const affected = (change: object) => [
    ...disruptionController.watches.statefulsets!(
      { key: 'shop/db', before: after, after: { ...after, ...change } },
      cluster.view,
    ),
  ]
  expect(affected({ replicas: 3 })).toEqual(['shop/web', 'shop/share'])
  const adopted = {
    ...after.meta,
    owners: [{ ...after.meta, isController: true, reference: { controller: true } }],
  }
  expect(affected({ meta: adopted })).toEqual(['shop/web', 'shop/share'])
  expect(affected({ status: {} })).toEqual([])
  expect(Object.keys(disruptionController.watches)).toEqual([
    'poddisruptionbudgets',
    'pods',
    'deployments',
    'replicasets',
    'statefulsets',
  ])
})

test('an evicted Pod counts as gone until it is, or for two minutes', async () => {
  const disruptedPods = { a: AT, gone: AT }
  const { run, status, cluster } = scene(
    budget({ minAvailable: 1 }, { disruptedPods }),
    pod('a'),
    pod('b'),
  )
  await run()
  expect(status()).toMatchObject({ disruptedPods: { a: AT }, currentHealthy: 1 })
  expect(status()['disruptedPods']).toEqual({ a: AT })
  const { view } = cluster
  expect(disruptionController.reconcile('shop/web', view, NOW, 0)).toEqual({
    writes: [],
    againMs: 120_000,
  })
  await run(NOW + 120_000)
  expect(status()).toMatchObject({ disruptedPods: {}, currentHealthy: 2, disruptionsAllowed: 1 })
  expect(await run(NOW + 120_000)).toEqual([])
})

test('a change of a Pod concerns the budgets that select it', () => {
  const { cluster } = scene(budget({ minAvailable: 1 }), pod('a'))
  const after = cluster.view.pods.get('shop/a')!
  const other = { ...after, meta: { ...after.meta, labels: {} } }
  const affected = (before: typeof after | undefined, now: typeof after) => [
    ...disruptionController.watches.pods!({ key: 'shop/a', before, after: now }, cluster.view),
  ]
  expect(affected(undefined, after)).toEqual(['shop/web'])
  expect(affected(after, other)).toEqual(['shop/web'])
  expect(affected(undefined, other)).toEqual([])
  const { meta } = after
  expect(affected(after, { ...after, restarts: 1, meta: { ...meta, version: '9' } })).toEqual([])
  const owners = [{ ...meta, isController: true, reference: { controller: true } }] as never
  const ends = [{ ready: false }, { finished: true }, { meta: { ...meta, terminating: true } }]
  for (const regarded of [...ends, { meta: { ...meta, owners } }]) {
    expect(affected(after, { ...after, ...regarded })).toEqual(['shop/web'])
  }
})

const change = fc.oneof(
  fc.record({
    pod: fc.constantFrom('a', 'b', 'c', 'd'),
    parts: fc.option(
      fc.record({
        ready: fc.boolean(),
        phase: fc.constantFrom('Running', 'Running', 'Failed'),
        metadata: fc.constantFrom<JsonObject>(
          controlled('StatefulSet', 'db'),
          controlled('ReplicaSet', 'set'),
          { ...controlled('ReplicaSet', 'set'), ...MARKED.metadata },
          { labels: {} },
        ),
      }),
      { nil: undefined },
    ),
  }),
  fc.record({
    workload: fc.constantFrom('statefulsets/db', 'replicasets/set', 'deployments/web'),
    replicas: fc.option(fc.nat(5), { nil: undefined }),
  }),
  fc.constant('look' as const),
)
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

async function play(spec: JsonObject, changes: readonly Change[], looks: boolean) {
  const { cluster, run, status } = scene(budget(spec))
  for (const one of changes) {
    if (one === 'look') {
      if (looks) await run()
    } else if ('pod' in one) {
      if (one.parts === undefined) cluster.remove('pods', `shop/${one.pod}`)
      else cluster.put('pods', pod(one.pod, one.parts))
    } else {
      const [collection, name] = one.workload.split('/') as ['statefulsets', string]
      const metadata = name === 'set' ? controlled('Deployment', 'web') : {}
      if (one.replicas === undefined) cluster.remove(collection, `shop/${name}`)
      else cluster.put(collection, workload(name, one.replicas, metadata))
    }
  }
  await run()
  expect(await run()).toEqual([])
  const { conditions, ...counts } = status()
  const [{ reason, message }] = conditions as [JsonObject]
  // While the expected number is not known, the other counts are from before.
  const { disruptionsAllowed } = counts
  return reason === 'SyncFailed'
    ? { reason, message, disruptionsAllowed }
    : { reason, message, ...counts }
}

test.each([{ maxUnavailable: 1 }, { minAvailable: '50%' }, { minAvailable: 1 }])(
  'histories with %j end as a fresh start does',
  async (spec) => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 40, size: 'max' }), async (changes) => {
        expect(await play(spec, changes, true)).toEqual(await play(spec, changes, false))
      }),
      { numRuns: Number(process.env['NP_HISTORIES'] ?? 100) },
    )
  },
)
