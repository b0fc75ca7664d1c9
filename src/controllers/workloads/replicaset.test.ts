import { expect, test } from 'vitest'
import { type JsonObject, mergePatch, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { readWorkload } from '../objects/workload-object.ts'
import type { Write } from '../runner/write.ts'
import { clusterWith } from '../testing/cluster-with.ts'
import { refusal } from '../testing/fake-cluster.ts'
import { conditionOf, readyCondition } from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { replicaSetController } from './replicaset-controller.ts'
import { gatherMs } from './shared/pods-of.ts'

const NOW = Date.UTC(2030, 0, 1)
const LABELS = { app: 'web' }
const OWNED = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'web',
  uid: 'rs',
  controller: true,
  blockOwnerDeletion: true,
}

function replicaSet(spec: JsonObject = {}, metadata: JsonObject = {}, uid = 'rs'): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid, generation: 3, ...metadata },
    spec: {
      replicas: 2,
      selector: { matchLabels: LABELS },
      template: {
        metadata: { labels: { ...LABELS, tier: 'front' } },
        spec: { containers: [{ name: 'main' }] },
      },
      ...spec,
    },
  }
}

const READY = { phase: 'Running', conditions: [readyCondition(true, '2029-12-31T23:59:00Z')] }

/** A Pod of the ReplicaSet on a node, ready for a minute; `parts` are merged over it. */
function pod(name: string, parts: JsonObject = {}): JsonObject {
  const metadata = { name, namespace: 'shop', uid: name, labels: LABELS, ownerReferences: [OWNED] }
  const whole = { metadata, spec: { nodeName: name }, status: READY }
  return mergePatch(whole, parts) as JsonObject
}

function scene(set: JsonObject, ...pods: readonly JsonObject[]) {
  const cluster = clusterWith(['replicasets', set], ...pods.map((one) => ['pods', one] as const))
  const run = (now = NOW) => reconcile(cluster, { controller: replicaSetController, now })
  const status = () => objectAt(cluster.get('replicasets', 'shop/web'), 'status')
  const names = () =>
    cluster
      .all('pods')
      .map((one) => stringAt(one, 'metadata', 'name'))
      .toSorted()
  return { cluster, run, status, names }
}

test('missing Pods are made of the template, each with an Event', async () => {
  const { cluster, run, status } = scene(replicaSet())
  expect(await run()).toEqual([
    'create pods/shop/',
    'record SuccessfulCreate shop/web',
    'create pods/shop/',
    'record SuccessfulCreate shop/web',
    'patch replicasets/shop/web',
  ])
  expect(status()).toEqual({ replicas: 0, observedGeneration: 3 })
  expect(cluster.all('pods')[0]).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^web-/),
      labels: { app: 'web', tier: 'front' },
      ownerReferences: [OWNED],
    },
    spec: { containers: [{ name: 'main' }] },
  })
  await run()
  expect(status()).toEqual({ replicas: 2, fullyLabeledReplicas: 2, observedGeneration: 3 })
  expect(await run()).toEqual([])
})

test('the Event of a creation names the Pod', () => {
  const { cluster } = scene(replicaSet({ replicas: 1 }))
  const [create] = replicaSetController.reconcile('shop/web', cluster.view, NOW, 0).writes
  const [event] = (create as Write & { verb: 'create' }).done?.('web-x7') ?? []
  expect(event).toMatchObject({
    body: {
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message: 'Created pod: web-x7',
      source: { component: 'replicaset-controller' },
      involvedObject: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' },
    },
  })
})

test('Pods are counted as ready, as available after minReadySeconds, and by the labels of the template', async () => {
  const labels = { tier: 'front' }
  const since = (time: string) => ({ conditions: [readyCondition(true, time)] })
  const { run, status, cluster } = scene(
    replicaSet({ replicas: 3, minReadySeconds: 10 }),
    pod('a', { metadata: { labels }, status: since('2029-12-31T23:59:50Z') }),
    pod('b', { status: since('2029-12-31T23:59:53Z') }),
    pod('c', { status: { conditions: [readyCondition(false)] } }),
  )
  const { againMs } = replicaSetController.reconcile('shop/web', cluster.view, NOW, 0)
  expect(againMs).toBe(3_000)
  await run()
  const counts = { replicas: 3, fullyLabeledReplicas: 1, readyReplicas: 2, observedGeneration: 3 }
  expect(status()).toEqual({ ...counts, availableReplicas: 1 })
  await run(NOW + 3_000)
  expect(status()).toEqual({ ...counts, availableReplicas: 2 })
  cluster.put('pods', pod('a', { status: { conditions: [readyCondition(false)] } }))
  cluster.put('pods', pod('b', { status: { conditions: [readyCondition(false)] } }))
  await run(NOW + 3_000)
  expect(status()).toEqual({ replicas: 3, observedGeneration: 3 })
})

test('a Pod that has ended or is being deleted is replaced, and left alone', async () => {
  const { run, names } = scene(
    replicaSet({ replicas: 2 }),
    pod('failed', { status: { phase: 'Failed' } }),
    pod('leaving', { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } }),
    pod('works'),
  )
  await run()
  expect(names()).toEqual(['failed', 'leaving', expect.stringMatching(/^web-/), 'works'])
})

const COST = 'controller.kubernetes.io/pod-deletion-cost'
const cost = (value: string) => ({ metadata: { annotations: { [COST]: value } } })
const born = (time: string) => ({ metadata: { creationTimestamp: time } })

/** Of two Pods with these differences the first one is deleted. */
test.each<[string, JsonObject, JsonObject]>([
  ['without a node', { spec: { nodeName: null } }, cost('-5')],
  ['that is pending', { status: { phase: 'Pending' } }, cost('-5')],
  ['of an unknown phase', { status: { phase: 'Unknown' } }, cost('-5')],
  [
    'pending before an unknown phase',
    { status: { phase: 'Pending' } },
    { status: { phase: 'Unknown' } },
  ],
  ['that is not ready', { status: { conditions: [readyCondition(false)] } }, cost('-5')],
  ['that costs less', cost('-1'), born('2029-12-31T00:00:00Z')],
  ['that costs nothing, because its cost is no number', cost('-2x'), cost('1')],
  ['that costs nothing, because its cost has more than 32 bits', cost('2147483648'), cost('1')],
  [
    'that has been ready for shorter',
    { status: { conditions: [readyCondition(true, '2029-12-31T23:59:30Z')] } },
    { status: { containerStatuses: [{ restartCount: 9 }] } },
  ],
  [
    'that was restarted more often',
    {
      status: { containerStatuses: [{ restartCount: 1 }, { restartCount: 3 }] },
      ...born('2029-12-30T00:00:00Z'),
    },
    { status: { containerStatuses: [{ restartCount: 2 }] }, ...born('2029-12-31T00:00:00Z') },
  ],
  ['that is younger', born('2029-12-31T00:00:00Z'), born('2029-12-30T00:00:00Z')],
])('of two Pods the one %s is deleted', async (_, first, second) => {
  for (const [one, other] of [
    ['a', 'z'],
    ['z', 'a'],
  ] as const) {
    const { run } = scene(replicaSet({ replicas: 1 }), pod(one, first), pod(other, second))
    expect((await run()).slice(0, 2)).toEqual([
      `delete pods/shop/${one}`,
      'record SuccessfulDelete shop/web',
    ])
  }
})

test('of a node that has more Pods of the same owner one goes first, also if they are of another ReplicaSet', async () => {
  const deployment = { kind: 'Deployment', name: 'web', uid: 'd', controller: true }
  const other = { ...OWNED, name: 'old', uid: 'old' }
  const { run, cluster } = scene(
    replicaSet({ replicas: 1 }, { ownerReferences: [deployment] }),
    pod('a', { spec: { nodeName: 'n1' } }),
    pod('b', { spec: { nodeName: 'n2' } }),
    pod('c', { spec: { nodeName: 'n2' }, metadata: { ownerReferences: [other] } }),
  )
  cluster.put('replicasets', replicaSet({}, { name: 'old', ownerReferences: [deployment] }, 'old'))
  expect(await run()).toContain('delete pods/shop/b')
})

test('Pods that it selects are adopted, those that it no longer selects are released, before any is made', async () => {
  const { run, cluster } = scene(
    replicaSet({ replicas: 1 }),
    pod('orphan', { metadata: { ownerReferences: null } }),
    pod('moved', { metadata: { labels: { app: 'other' } } }),
  )
  expect((await run()).toSorted()).toEqual(['patch pods/shop/moved', 'patch pods/shop/orphan'])
  expect(valueAt(cluster.get('pods', 'shop/orphan'), 'metadata', 'ownerReferences')).toEqual([
    OWNED,
  ])
  expect(valueAt(cluster.get('pods', 'shop/moved'), 'metadata', 'ownerReferences')).toEqual([])
  expect(await run()).toEqual(['patch replicasets/shop/web'])
})

test('a Pod of which it is an owner, and that another one controls, is not its own', async () => {
  const others = [
    { ...OWNED, controller: false },
    { ...OWNED, name: 'other', uid: 'other' },
  ]
  const { run, status } = scene(
    replicaSet({ replicas: 1 }),
    pod('a'),
    pod('b', { metadata: { ownerReferences: others } }),
    pod('c', { metadata: { ownerReferences: others, labels: { app: null } } }),
  )
  expect(await run()).toEqual(['patch replicasets/shop/web'])
  expect(status()).toMatchObject({ replicas: 1 })
})

test.each<[string, JsonObject | undefined]>([
  ['is being deleted', replicaSet({ replicas: 1 }, { deletionTimestamp: '2030-01-01T00:00:00Z' })],
  ['is gone', undefined],
  ['has a successor', replicaSet({ replicas: 1 }, {}, 'next')],
])('an owner adopts nothing that %s at the server and not yet in the caches', async (_, after) => {
  const { run, cluster } = scene(
    replicaSet({ replicas: 1 }),
    pod('orphan', { metadata: { ownerReferences: null } }),
  )
  cluster.hold()
  if (after === undefined) cluster.remove('replicasets', 'shop/web')
  else cluster.put('replicasets', after)
  await expect(run()).rejects.toThrow('not there')
  expect(valueAt(cluster.get('pods', 'shop/orphan'), 'metadata', 'ownerReferences')).toBe(undefined)
})

test('a ReplicaSet that is scaled while Pods are made or deleted goes on as it is now', async () => {
  const pods = ['a', 'b', 'c', 'd'].map((name) => pod(name))
  for (const [from, to] of [
    [0, 3],
    [9, 5],
  ] as const) {
    const { cluster, names } = scene(replicaSet({ replicas: from }), ...pods)
    cluster.intercept = async (write) => {
      if (write.verb === 'create' || write.verb === 'delete') {
        cluster.put('replicasets', replicaSet({ replicas: to }))
      }
      return undefined
    }
    await runControllers(cluster, [replicaSetController])
    const isLeft = (name: string): boolean =>
      !cluster.view.pods.get(`shop/${name}`)?.meta.terminating
    expect(names().filter(isLeft)).toHaveLength(to)
    expect(names()).toHaveLength(Math.max(4, to))
  }
})

test('a ReplicaSet that is being deleted makes, deletes and releases no Pods', async () => {
  const deletionTimestamp = '2030-01-01T00:00:00Z'
  for (const replicas of [0, 5]) {
    const moved = pod('moved', { metadata: { labels: { app: 'other' } } })
    const { run } = scene(replicaSet({ replicas }, { deletionTimestamp }), pod('a'), moved)
    expect(await run()).toEqual(['patch replicasets/shop/web'])
  }
})

test('a reconcile makes at most 500 Pods, and the next one follows at once', async () => {
  const { cluster } = scene(replicaSet({ replicas: 501 }))
  const first = replicaSetController.reconcile('shop/web', cluster.view, NOW, 0)
  expect(first.writes.filter(({ verb }) => verb === 'create')).toHaveLength(500)
  expect(first.dirty).toEqual(['shop/web'])
  const clock = await runControllers(cluster, [replicaSetController])
  for (let turn = 0; turn < 50 && cluster.all('pods').length < 501; turn++) await clock.advance(250)
  expect(cluster.all('pods')).toHaveLength(501)
  cluster.put('replicasets', replicaSet({ replicas: 0 }))
  const next = replicaSetController.reconcile('shop/web', cluster.view, NOW, 0)
  expect(next.writes.filter(({ verb }) => verb === 'delete')).toHaveLength(500)
})

test('a refused creation becomes a condition and one Event, and both are over with the first Pod that is made', async () => {
  const { cluster, status } = scene(replicaSet())
  cluster.intercept = async (write) =>
    write.verb === 'create' ? refusal(403, 'exceeded quota') : undefined
  const clock = await runControllers(cluster, [replicaSetController])
  await clock.advance(100)
  const failures = cluster.log.filter((one) => one === 'record FailedCreate shop/web')
  expect(failures).toHaveLength(1)
  expect(cluster.log.filter((one) => one.startsWith('create')).length).toBeGreaterThan(1)
  expect(conditionOf(cluster.get('replicasets', 'shop/web'), 'ReplicaFailure')).toMatchObject({
    status: 'True',
    reason: 'FailedCreate',
    message: 'exceeded quota',
  })
  expect(status()).toMatchObject({ replicas: 0, observedGeneration: 3 })
  cluster.intercept = async () => undefined
  await clock.advance(60_000)
  expect(status()).toMatchObject({ replicas: 2, conditions: [] })
})

test('a refused deletion becomes a condition', async () => {
  const { cluster, status } = scene(replicaSet({ replicas: 0 }), pod('a'))
  cluster.intercept = async (write) => (write.verb === 'delete' ? refusal(403) : undefined)
  const clock = await runControllers(cluster, [replicaSetController])
  await clock.advance(10)
  expect(cluster.log).toContain('record FailedDelete shop/web')
  expect(status()).toMatchObject({ conditions: [{ reason: 'FailedDelete' }] })
})

test('a server that cannot be reached is no refusal', async () => {
  const { cluster, status } = scene(replicaSet())
  cluster.intercept = async (write) => (write.verb === 'create' ? refusal(0) : undefined)
  const clock = await runControllers(cluster, [replicaSetController])
  await clock.advance(10)
  expect(cluster.log).not.toContain('record FailedCreate shop/web')
  expect(status()).toEqual({})
})

test('a change of a Pod concerns the ReplicaSet that controls it, or those that select an orphan', () => {
  const { cluster } = scene(
    replicaSet(),
    pod('a'),
    pod('b', { metadata: { ownerReferences: null } }),
  )
  const affected = (name: string) => [
    ...replicaSetController.watches.pods!(
      { key: name, before: undefined, after: cluster.view.pods.get(name) },
      cluster.view,
    ),
  ]
  expect(affected('shop/a')).toEqual(['shop/web'])
  expect(affected('shop/b')).toEqual(['shop/web'])
})

test('changes of a ReplicaSet of many Pods are gathered, also while it has them still', () => {
  const gathered = (replicas: number, present = 0): number | undefined => {
    const { cluster } = scene({ ...replicaSet({ replicas }), status: { replicas: present } })
    return replicaSetController.delayMs?.('shop/web', cluster.view)
  }
  const found = [gathered(0), gathered(50), gathered(51), gathered(5_000), gathered(0, 100)]
  expect(found).toEqual([0, 0, 51, 250, 100])
  const { cluster } = scene(replicaSet())
  expect(replicaSetController.delayMs?.('shop/gone', cluster.view)).toBe(0)
  const owned = (status: JsonObject) => gatherMs(readWorkload({ spec: {}, status }))
  const others = [
    owned({ desiredNumberScheduled: 60 }),
    owned({ active: 70 }),
    owned({ active: 5 }),
  ]
  expect(others).toEqual([60, 70, 0])
})
