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

test.each([{ minAvailable: '50%' }, { maxUnavailable: 1 }, { maxUnavailable: '50%' }, {}])(
  '%j permits no eviction, because it takes the number of Pods that there should be',
  async (spec) => {
    const { run, status } = scene(budget(spec), pod('a'), pod('b'))
    await run()
    expect(status()).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ message: expect.stringContaining('give minAvailable as a number') }],
    })
  },
)

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
})
