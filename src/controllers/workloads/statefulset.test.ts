import { expect, test } from 'vitest'
import { type JsonObject, mergePatch, stringAt } from '../../lib/json.ts'
import { readPod } from '../objects/pod-object.ts'
import { refusal } from '../testing/fake-cluster.ts'
import { conditionOf } from '../testing/fixtures.ts'
import { statefulSetController } from './statefulset-controller.ts'
import { labelOf } from './testing/simulated-nodes.ts'
import { NOW, statefulScene as scene, statefulSet, templateWith } from './testing/stateful-scene.ts'

const REVISION = 'controller-revision-hash'

test('a Pod has the name of its ordinal, by which a headless Service finds it', async () => {
  const { run, pods, cluster, status } = scene(statefulSet())
  expect(await run()).toEqual([expect.stringMatching(/^create controllerrevisions\/shop\/web-/)])
  expect(await run()).toEqual([
    'create pods/shop/web-0',
    'record SuccessfulCreate shop/web',
    'patch statefulsets/shop/web',
  ])
  const [revision] = cluster.all('controllerrevisions')
  const name = stringAt(revision, 'metadata', 'name')
  expect(`web-${labelOf(revision!, 'controller.kubernetes.io/hash')}`).toBe(name)
  expect(pods()[0]).toMatchObject({
    metadata: {
      labels: {
        app: 'db',
        'statefulset.kubernetes.io/pod-name': 'web-0',
        'apps.kubernetes.io/pod-index': '0',
        [REVISION]: name,
      },
      ownerReferences: [{ kind: 'StatefulSet', uid: 'sts', controller: true }],
    },
    spec: { hostname: 'web-0', subdomain: 'db' },
  })
  expect(status()).toMatchObject({ currentRevision: name, updateRevision: name, replicas: 0 })
})

test('Pods follow each other, each when the one before is ready', async () => {
  const { settled, serve, shown, status, actOn } = scene(statefulSet())
  await settled()
  expect(shown()).toBe('0')
  actOn(0, 'bind')
  await settled()
  expect(shown()).toBe('0')
  actOn(0, 'ready')
  await settled()
  expect(shown()).toBe('0! 1')
  serve(NOW)
  await settled()
  serve(NOW)
  await settled()
  expect(shown()).toBe('0! 1! 2!')
  expect(status()).toMatchObject({
    observedGeneration: 3,
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    currentReplicas: 3,
    updatedReplicas: 3,
  })
})

test('with minReadySeconds the next one waits until the one before has been ready for long enough', async () => {
  const { settled, actOn, shown, cluster, status } = scene(statefulSet({ minReadySeconds: 10 }))
  await settled()
  actOn(0, 'bind', 'ready')
  await settled(NOW + 9_000)
  expect(shown()).toBe('0!')
  expect(status()).toMatchObject({ readyReplicas: 1, availableReplicas: 0 })
  const { againMs } = statefulSetController.reconcile('shop/web', cluster.view, NOW + 9_000, 0)
  expect(againMs).toBe(1_000)
  await settled(NOW + 10_000)
  expect(shown()).toBe('0! 1')
})

test('Parallel Pods are made at once, and deleted at once', async () => {
  const { settled, change, serve, shown } = scene(statefulSet({ podManagementPolicy: 'Parallel' }))
  await settled()
  expect(shown()).toBe('0 1 2')
  serve(NOW)
  await settled()
  change({ replicas: 1 })
  await settled()
  expect(shown()).toBe('0! 1- 2-')
})

test('ordinals begin where the spec says', async () => {
  const { complete, shown, change, settled } = scene(statefulSet({ ordinals: { start: 5 } }))
  await complete()
  expect(shown()).toBe('5! 6! 7!')
  change({ ordinals: { start: 6 } })
  await complete()
  expect(shown()).toBe('6! 7! 8!')
  change({ replicas: 0 })
  await settled()
  expect(shown()).toBe('6! 7! 8-')
})

test('surplus Pods are deleted from the greatest ordinal on, while all others are ready', async () => {
  const { complete, change, settled, shown, actOn } = scene(statefulSet())
  await complete()
  change({ replicas: 1 })
  await settled()
  expect(shown()).toBe('0! 1! 2-')
  actOn(0, 'unready')
  actOn(2, 'end')
  await settled()
  expect(shown()).toBe('0 1!')
  actOn(0, 'ready')
  await settled()
  expect(shown()).toBe('0! 1-')
})

test('of surplus Pods that are not ready the one with the least ordinal is deleted, when it is its turn', async () => {
  const { complete, change, settled, shown, actOn } = scene(statefulSet())
  await complete()
  actOn(1, 'unready')
  actOn(2, 'unready')
  change({ replicas: 1 })
  await settled()
  expect(shown()).toBe('0! 1 2')
  actOn(1, 'ready')
  await settled()
  expect(shown()).toBe('0! 1! 2-')
  actOn(1, 'unready')
  actOn(2, 'end')
  await settled()
  expect(shown()).toBe('0! 1-')
})

test.each<['fail' | 'succeed', string]>([
  ['fail', 'record RecreatingFailedPod shop/web'],
  ['succeed', 'record RecreatingTerminatedPod shop/web'],
])('after %s a Pod is made again under its name, with %s', async (event, record) => {
  const { complete, actOn, run, shown, settled, pods } = scene(statefulSet())
  await complete()
  actOn(1, event)
  expect(await run()).toEqual(
    expect.arrayContaining(['delete pods/shop/web-1', record, 'create pods/shop/web-1']),
  )
  expect(shown()).toBe('0! 1 2!')
  actOn(1, 'bind', event)
  await settled()
  expect(readPod(pods()[1]!).finished).toBe(true)
  await settled(NOW + 1_000)
  expect(readPod(pods()[1]!).finished).toBe(false)
})

test('a Pod that lost the label of its name gets it again', async () => {
  const { complete, pods, cluster, settled } = scene(statefulSet())
  await complete()
  const labels = { 'statefulset.kubernetes.io/pod-name': null }
  cluster.put('pods', mergePatch(pods()[2], { metadata: { labels } }) as JsonObject)
  await settled()
  expect(labelOf(pods()[2]!, 'statefulset.kubernetes.io/pod-name')).toBe('web-2')
})

test('Pods of other names are not adopted, and one of its own name is', async () => {
  const { cluster, settled, pods } = scene(statefulSet())
  const labels = { app: 'db' }
  for (const name of ['web-x', 'other-0', 'web-00', 'web-1']) {
    cluster.put('pods', { metadata: { name, namespace: 'shop', uid: name, labels } })
  }
  await settled()
  const owned = pods().filter((pod) => readPod(pod).meta.owners.length > 0)
  expect(owned.map((pod) => readPod(pod).meta.name)).toEqual(['web-0', 'web-1'])
})

const rolling = (rollingUpdate: JsonObject): JsonObject => ({ updateStrategy: { rollingUpdate } })

/** Three Pods that are ready, and then another template. */
async function rolloutScene(spec: JsonObject) {
  const whole = scene(statefulSet(spec))
  await whole.complete()
  const before = stringAt(whole.status(), 'currentRevision')
  whole.change({ template: templateWith('b') })
  await whole.settled()
  const old = () => whole.pods().filter((pod) => labelOf(pod, REVISION) === before).length
  return { ...whole, before, old }
}

test.each<[JsonObject, string, number]>([
  [{}, '0! 1! 2-', 0],
  [{ podManagementPolicy: 'Parallel' }, '0! 1! 2-', 0],
  [rolling({ partition: 2 }), '0! 1! 2-', 2],
  [rolling({ partition: 3 }), '0! 1! 2!', 3],
  [rolling({ maxUnavailable: 2 }), '0! 1- 2-', 0],
  [rolling({ maxUnavailable: '70%' }), '0! 1- 2-', 0],
  [rolling({ maxUnavailable: '10%' }), '0! 1! 2-', 0],
  [{ updateStrategy: { type: 'OnDelete' } }, '0! 1! 2!', 3],
])(
  'with %j another template leads to %s first, and leaves %i old Pods',
  async (spec, first, kept) => {
    const { shown, complete, old, status, before } = await rolloutScene(spec)
    expect(shown()).toBe(first)
    await complete()
    expect([shown(), old()]).toEqual(['0! 1! 2!', kept])
    const { currentRevision, updateRevision, updatedReplicas, currentReplicas } = status()
    expect(updateRevision).not.toBe(before)
    expect(currentRevision).toBe(kept === 0 ? updateRevision : before)
    expect([updatedReplicas, currentReplicas]).toEqual(
      kept === 0 ? [3, 3] : [3 - kept || undefined, kept],
    )
  },
)

test('a rollout waits until the new Pod is ready', async () => {
  const { actOn, settled, shown } = await rolloutScene({})
  actOn(2, 'end')
  await settled()
  expect(shown()).toBe('0! 1! 2')
  actOn(2, 'bind', 'ready')
  await settled()
  expect(shown()).toBe('0! 1- 2!')
})

test('a Pod below the partition that is deleted comes back with the old template', async () => {
  const { complete, actOn, old, pods } = await rolloutScene(rolling({ partition: 2 }))
  await complete()
  actOn(0, 'delete', 'end')
  await complete()
  expect(old()).toBe(2)
  expect(pods()[0]).toMatchObject({ spec: { containers: [{ image: 'a' }] } })
})

test('with OnDelete a Pod that is deleted comes back with the new template', async () => {
  const { complete, actOn, old } = await rolloutScene({ updateStrategy: { type: 'OnDelete' } })
  actOn(1, 'delete', 'end')
  await complete()
  expect(old()).toBe(2)
})

test('undoing a change returns to the old revision under a new number', async () => {
  const { complete, change, cluster, status, before } = await rolloutScene({})
  await complete()
  change({ template: templateWith('a') })
  await complete()
  expect(status()).toMatchObject({ currentRevision: before, updateRevision: before })
  const numbers = cluster.all('controllerrevisions').map((one) => one['revision'])
  expect(new Set(numbers)).toEqual(new Set([2, 3]))
})

test('the oldest revisions that no Pod has are deleted', async () => {
  const { complete, change, cluster } = scene(statefulSet({ revisionHistoryLimit: 1 }))
  for (const image of ['a', 'b', 'c', 'd']) {
    change({ template: templateWith(image) })
    await complete()
  }
  const numbers = cluster.all('controllerrevisions').map((one) => one['revision'])
  expect(new Set(numbers)).toEqual(new Set([3, 4]))
})

test('a set with claims for volumes makes no Pods, and says why', async () => {
  const volumeClaimTemplates = [{ metadata: { name: 'data' } }]
  const { settled, shown, cluster } = scene(statefulSet({ volumeClaimTemplates }))
  const records = (await settled()).filter((one) => one.startsWith('record'))
  expect(shown()).toBe('')
  expect(records).toEqual(['record FailedCreate shop/web'])
  expect(
    conditionOf(cluster.get('statefulsets', 'shop/web'), 'orch.io/VolumeClaims'),
  ).toMatchObject({
    status: 'False',
    reason: 'NotSupported',
    message: expect.stringMatching(/^spec\.volumeClaimTemplates: .* spec\.template$/),
  })
})

test('a refused creation is one Event and a condition, which goes when it succeeds', async () => {
  const { cluster, run, settled, status } = scene(statefulSet())
  await run()
  const { intercept } = cluster
  cluster.intercept = async (write) =>
    write.verb === 'create' && write.collection === 'pods' ? refusal(403, 'no space') : undefined
  for (let attempt = 0; attempt < 2; attempt++) await expect(run()).rejects.toThrow('no space')
  expect(cluster.log.filter((one) => one.startsWith('record'))).toEqual([
    'record FailedCreate shop/web',
  ])
  expect(conditionOf(cluster.get('statefulsets', 'shop/web'), 'ReplicaFailure')).toMatchObject({
    reason: 'FailedCreate',
    message: 'no space',
  })
  expect(status()).toMatchObject({ observedGeneration: 3, replicas: 0 })
  cluster.intercept = intercept
  await settled()
  expect(status()['conditions']).toEqual([])
})

/** The Pod `shop/web-1`, which is not of the StatefulSet. */
function foreignPod(metadata: JsonObject = {}): JsonObject {
  return { metadata: { name: 'web-1', namespace: 'shop', uid: 'other', ...metadata }, spec: {} }
}

test('a name that another Pod has is one Event and a condition, and no further attempt', async () => {
  const { cluster, complete, shown, status } = scene(statefulSet())
  cluster.put('pods', foreignPod())
  await complete()
  expect(shown()).toBe('0! 1!')
  const failed = cluster.log.filter((one) => /Failed|create pods.shop.web-1/.test(one))
  expect(failed).toEqual(['record FailedCreate shop/web'])
  expect(conditionOf(cluster.get('statefulsets', 'shop/web'), 'ReplicaFailure')).toMatchObject({
    status: 'True',
    reason: 'FailedCreate',
    message: 'pods "web-1" already exists, and is not of this StatefulSet',
  })
  cluster.remove('pods', 'shop/web-1')
  await complete()
  expect(shown()).toBe('0! 1! 2!')
  expect(status()['conditions']).toEqual([])
})

test('the Event about a name that another Pod has is worded as that of a refused creation', async () => {
  const { cluster, settled } = scene(statefulSet({ podManagementPolicy: 'Parallel' }))
  const messages: unknown[] = []
  cluster.intercept = async (write) => {
    if (write.verb === 'record') messages.push([write.body['type'], write.body['message']])
    return undefined
  }
  cluster.put('pods', foreignPod())
  await settled()
  expect(messages.at(-1)).toEqual([
    'Warning',
    'create Pod web-1 in StatefulSet web failed error: pods "web-1" already exists, and is not of this StatefulSet',
  ])
})

test('in parallel, the other Pods are made beside a name that another Pod has', async () => {
  const { cluster, complete, shown } = scene(statefulSet({ podManagementPolicy: 'Parallel' }))
  cluster.put('pods', foreignPod())
  await complete()
  expect(shown()).toBe('0! 1! 2!')
})

test('a Pod of another owner that is being deleted is waited for, without an Event', async () => {
  const { cluster, settled, actOn, shown } = scene(statefulSet())
  cluster.put('pods', foreignPod({ deletionTimestamp: '2029-12-31T23:00:00Z' }))
  await settled()
  actOn(0, 'bind', 'ready')
  await settled()
  expect(shown()).toBe('0! 1-')
  expect(cluster.log.filter((one) => /Failed|create pods.shop.web-1/.test(one))).toEqual([])
})

test.each([
  ['web-1', ['shop/web']],
  ['web-01', []],
  ['web', []],
  ['web-x', []],
  ['other-1', []],
])('the StatefulSet learns that the Pod %s of another owner has gone', (name, keys) => {
  const { cluster } = scene(statefulSet())
  const before = readPod(foreignPod({ name }))
  const change = { key: before.meta.key, before, after: undefined }
  expect(statefulSetController.watches.pods?.(change, cluster.view)).toEqual(keys)
})

test('a StatefulSet that is being deleted makes no Pods', async () => {
  const { settled, shown } = scene(statefulSet({}, { deletionTimestamp: '2029-12-31T23:00:00Z' }))
  await settled()
  expect(shown()).toBe('')
})
