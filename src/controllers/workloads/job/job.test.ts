import { expect, test } from 'vitest'
import { type JsonObject, mergePatch, stringsAt, valueAt } from '../../../lib/json.ts'
import { readPod } from '../../objects/pod-object.ts'
import { refusal } from '../../testing/fake-cluster.ts'
import { conditionOf } from '../../testing/fixtures.ts'
import { reconcile } from '../../testing/reconcile.ts'
import { jobController } from '../job-controller.ts'
import { indexed, job, NOW, jobScene as scene, TRACKING } from '../testing/job-scene.ts'
import { ttlAfterFinishedController } from '../ttlafterfinished-controller.ts'

const START = '2030-01-01T00:00:00Z'

test('a Job starts a Pod, counts its end, and is complete', async () => {
  const { run, pods, status, get, act, settled } = scene(job())
  expect(await run()).toEqual(['patch jobs/shop/web'])
  expect(await run()).toEqual(['create pods/shop/', 'record SuccessfulCreate shop/web'])
  expect(await run()).toEqual(['patch jobs/shop/web'])
  expect(status()).toEqual({ startTime: START, active: 1, ready: 0, terminating: 0 })
  const [pod] = pods()
  expect(pod).toMatchObject({
    metadata: {
      finalizers: [TRACKING],
      labels: { app: 'web' },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', uid: 'job', controller: true }],
    },
    spec: { restartPolicy: 'Never' },
  })
  const { name, uid } = readPod(pod!).meta
  for (const event of ['bind', 'ready'] as const) act(pods()[0]!, event, NOW)
  await settled()
  expect(status()).toMatchObject({ active: 1, ready: 1 })
  act(pods()[0]!, 'succeed', NOW + 5_000)
  expect(await run(NOW + 5_000)).toEqual(['patch jobs/shop/web'])
  expect(status()).toMatchObject({ uncountedTerminatedPods: { succeeded: [uid] } })
  expect(await run(NOW + 5_000)).toEqual([`patch pods/shop/${name}`])
  expect(await run(NOW + 5_000)).toEqual(['patch jobs/shop/web', 'record Completed shop/web'])
  expect(await run(NOW + 5_000)).toEqual([])
  expect(status()).toMatchObject({
    ready: 0,
    succeeded: 1,
    startTime: START,
    completionTime: '2030-01-01T00:00:05Z',
    uncountedTerminatedPods: {},
  })
  expect(status()).not.toHaveProperty('active')
  expect(conditionOf(get(), 'Complete')).toMatchObject({
    status: 'True',
    reason: 'CompletionsReached',
  })
})

test.each<[JsonObject, number]>([
  [{ parallelism: 3, completions: 5 }, 3],
  [{ parallelism: 3, completions: 2 }, 2],
  [{ parallelism: 3, completions: null }, 3],
  [{ parallelism: 0 }, 0],
  [{ completions: 0 }, 0],
  [{ suspend: true }, 0],
  [{ managedBy: 'kubernetes.io/job-controller' }, 1],
  [{ managedBy: 'example.com/other' }, 0],
  [{ completionMode: 'Indexed', parallelism: 2, completions: 3 }, 2],
])('with %j there are %i Pods at first', async (spec, count) => {
  const { settled, pods } = scene(job(spec))
  await settled()
  expect(pods()).toHaveLength(count)
})

test('Pods are made until enough have succeeded, never more at a time than parallelism permits', async () => {
  const { settled, happens, status, shown } = scene(job({ parallelism: 2, completions: 3 }))
  await settled()
  await happens(['bind', 'succeed'])
  expect([shown(), status()['succeeded']]).toEqual(['Pending Pending Succeeded', 1])
  await happens(['bind', 'succeed'])
  expect(shown()).toBe('Pending Succeeded Succeeded')
  expect(await happens(['bind', 'succeed'])).toContain('record Completed shop/web')
})

test('without completions one success is enough, and the others end by themselves', async () => {
  const { settled, happens, shown, status } = scene(job({ parallelism: 3, completions: null }))
  await settled()
  await happens(['bind', 'succeed'])
  expect(shown()).toBe('Pending Pending Succeeded')
  await happens(['bind', 'succeed'])
  expect(await happens(['bind', 'fail'])).toContain('record Completed shop/web')
  expect(status()).toMatchObject({ succeeded: 2, failed: 1 })
})

test('a Pod that failed is replaced after 10 s, 20 s, … six minutes', async () => {
  const { settled, happens, shown, cluster } = scene(job({ backoffLimit: 20 }))
  await settled()
  let now = NOW
  const pauses: (number | undefined)[] = []
  for (let failures = 0; failures < 7; failures++) {
    await happens(['bind', 'fail'], now)
    expect(shown()).not.toContain('Pending')
    const { againMs } = jobController.reconcile('shop/web', cluster.view, now, 0)
    pauses.push(againMs)
    await settled(now + againMs! - 1)
    expect(shown()).not.toContain('Pending')
    now += againMs!
    await settled(now)
    expect(shown()).toContain('Pending')
  }
  expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 360].map((seconds) => 1000 * seconds))
})

test('a success ends the pauses; a clock that is ahead prolongs none', async () => {
  const { settled, happens, shown } = scene(job({ parallelism: 2, completions: 4 }))
  await settled()
  await happens(['bind', 'fail'], NOW + 1_000)
  expect(shown()).toBe('Failed Pending')
  await happens(['bind', 'succeed'], NOW + 2_000)
  expect(shown()).toBe('Failed Pending Pending Succeeded')
  await happens(['bind', 'fail'], NOW + 3_600_000)
  await settled(NOW + 3_000)
  expect(shown()).toBe('Failed Failed Pending Succeeded')
  await settled(NOW + 3_609_999)
  expect(shown()).toBe('Failed Failed Pending Succeeded')
})

test('after too many failures the other Pods are deleted and counted, and then the Job has failed', async () => {
  const { settled, happens, shown, status, get } = scene(
    job({ parallelism: 2, completions: 2, backoffLimit: 0 }),
  )
  await settled()
  await happens(['bind', 'ready'])
  const writes = await happens(['bind', 'fail'], NOW, 1)
  expect(writes.filter((one) => one.startsWith('record'))).toEqual([
    'record SuccessfulDelete shop/web',
  ])
  expect(shown()).toBe('Failed Running-')
  expect(conditionOf(get(), 'FailureTarget')).toMatchObject({ reason: 'BackoffLimitExceeded' })
  expect(conditionOf(get(), 'Failed')).toEqual({})
  expect(await happens(['end'])).toContain('record BackoffLimitExceeded shop/web')
  expect(status()).toMatchObject({ failed: 2, terminating: 0 })
  expect(conditionOf(get(), 'Failed')).toMatchObject({
    status: 'True',
    reason: 'BackoffLimitExceeded',
    message: 'Job has reached the specified backoff limit',
  })
  expect(status()).not.toHaveProperty('completionTime')
})

test('a Job that has what it needs says so at once, stays with it, and is complete when the last Pod has ended', async () => {
  const { settled, happens, change, shown, get } = scene(indexed(3))
  const success = { status: 'True', reason: 'CompletionsReached' }
  await settled()
  await happens(['bind', 'ready'], NOW, 2)
  await happens(['bind', 'succeed'])
  expect(conditionOf(get(), 'SuccessCriteriaMet')).toEqual({})
  change({ completions: 1, parallelism: 1 })
  await settled()
  expect(shown()).toBe('Running- Succeeded')
  expect(conditionOf(get(), 'SuccessCriteriaMet')).toMatchObject(success)
  expect(conditionOf(get(), 'Complete')).toEqual({})
  change({ completions: 3, parallelism: 3 })
  await settled()
  expect(shown()).toBe('Running- Succeeded')
  expect(await happens(['end'])).toContain('record Completed shop/web')
  expect(conditionOf(get(), 'Complete')).toMatchObject(success)
  expect(shown()).toBe('Succeeded')
})

test.each<[number, number, boolean]>([
  [0, 0, false],
  [0, 1, true],
  [3, 2, false],
  [3, 3, true],
])(
  'with OnFailure and a limit of %i, %i restarts make it fail: %j',
  async (backoffLimit, count, fails) => {
    const template = { spec: { restartPolicy: 'OnFailure' } }
    const { settled, pods, cluster, get } = scene(
      mergePatch(job({ backoffLimit }), { spec: { template } }) as JsonObject,
    )
    await settled()
    const status = {
      containerStatuses: [{ restartCount: Math.floor(count / 3) }, { restartCount: 0 }],
      initContainerStatuses: [{ restartCount: count - Math.floor(count / 3) }],
    }
    cluster.put('pods', mergePatch(pods()[0], { status }) as JsonObject)
    await settled()
    expect(conditionOf(get(), 'Failed')['reason']).toBe(fails ? 'BackoffLimitExceeded' : undefined)
  },
)

test('a Job that runs for too long fails for that reason, whatever its Pods do then', async () => {
  const spec = { activeDeadlineSeconds: 60, backoffLimit: 0 }
  const { settled, happens, cluster, get, shown } = scene(job(spec))
  await settled()
  await happens(['bind', 'ready'])
  const { againMs } = jobController.reconcile('shop/web', cluster.view, NOW + 20_000, 0)
  expect(againMs).toBe(40_000)
  await settled(NOW + 60_000)
  expect(shown()).toBe('Running-')
  const later = jobController.reconcile('shop/web', cluster.view, NOW + 60_500, 0)
  expect(later).toEqual({ writes: [] })
  expect(await happens(['end'], NOW + 61_000)).toContain('record DeadlineExceeded shop/web')
  expect(conditionOf(get(), 'Failed')).toMatchObject({ reason: 'DeadlineExceeded' })
})

test('a suspended Job has no Pods, which do not count as failed, and begins anew when it is resumed', async () => {
  const { settled, happens, change, shown, status, get } = scene(
    job({ parallelism: 2, completions: 3, activeDeadlineSeconds: 60 }),
  )
  await settled()
  await happens(['bind', 'succeed'])
  await happens(['bind', 'ready'])
  change({ suspend: true })
  expect(await settled(NOW + 30_000)).toContain('record Suspended shop/web')
  expect(shown()).toBe('Running- Succeeded')
  await happens(['end'], NOW + 30_000)
  expect(status()).toMatchObject({ succeeded: 1, ready: 0, terminating: 0 })
  for (const field of ['failed', 'startTime', 'active']) expect(status()).not.toHaveProperty(field)
  await settled(NOW + 600_000)
  change({ suspend: false })
  expect(await settled(NOW + 600_000)).toContain('record Resumed shop/web')
  expect(status()).toMatchObject({ startTime: '2030-01-01T00:10:00Z', active: 2 })
  expect(conditionOf(get(), 'Suspended')).toMatchObject({ status: 'False', reason: 'JobResumed' })
})

test('the Pod of an index knows it, by its host name, labels and environment', async () => {
  const object = mergePatch(indexed(2), {
    spec: {
      template: {
        spec: {
          containers: [{ name: 'main' }, { name: 'own', env: [{ name: 'JOB_COMPLETION_INDEX' }] }],
          initContainers: [{ name: 'first', env: [{ name: 'A', value: 'b' }] }],
        },
      },
    },
  }) as JsonObject
  const { settled, pods } = scene(object)
  await settled()
  const path = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
  const env = { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath: path } } }
  expect(pods().map((pod) => readPod(pod).hostname)).toEqual(['web-0', 'web-1'])
  expect(pods()[1]).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^web-1-/),
      labels: { 'batch.kubernetes.io/job-completion-index': '1' },
      annotations: { 'batch.kubernetes.io/job-completion-index': '1' },
    },
    spec: {
      containers: [{ env: [env] }, { env: [{ name: 'JOB_COMPLETION_INDEX' }] }],
      initContainers: [{ env: [{ name: 'A' }, env] }],
    },
  })
})

test('each index succeeds once; one that failed is tried again', async () => {
  const { settled, happens, status, pods } = scene(indexed(8, { parallelism: 8 }))
  await settled()
  for (const at of [1, 2, 2, 2, 3]) await happens(['bind', 'succeed'], NOW, at)
  expect(status()).toMatchObject({ completedIndexes: '1,3-5,7', succeeded: 5 })
  await happens(['bind', 'fail'])
  await settled(NOW + 10_000)
  const open = pods().filter((pod) => !readPod(pod).finished)
  expect(open.map((pod) => readPod(pod).hostname)).toEqual(['web-0', 'web-2', 'web-6'])
  await happens(['bind', 'succeed'], NOW + 10_000)
  await happens(['bind', 'succeed'], NOW + 10_000)
  expect(await happens(['bind', 'succeed'], NOW + 10_000)).toContain('record Completed shop/web')
  expect(status()).toMatchObject({ completedIndexes: '0-7', succeeded: 8, failed: 1 })
})

test('Pods whose index is wrong or taken are deleted, and do not count', async () => {
  const { settled, cluster, pods, status } = scene(indexed(2))
  await settled()
  const [first] = pods()
  for (const index of ['1', '2', 'x']) {
    const annotations = { 'batch.kubernetes.io/job-completion-index': index }
    const metadata = { name: `web-z-${index}`, uid: `z-${index}`, annotations }
    const other = mergePatch(first, { metadata }) as JsonObject
    cluster.put('pods', mergePatch(other, { spec: { hostname: 'z' } }) as JsonObject)
  }
  await settled()
  expect(pods().map((pod) => readPod(pod).hostname)).toEqual(['web-0', 'web-1'])
  expect(status()).toMatchObject({ active: 2 })
  expect(status()).not.toHaveProperty('failed')
})

test('a Job with indexes grows and shrinks', async () => {
  const { settled, happens, change, status, pods } = scene(indexed(3))
  await settled()
  await happens(['bind', 'succeed'], NOW, 2)
  change({ completions: 2, parallelism: 2 })
  await settled()
  expect(status()).toMatchObject({ active: 2 })
  expect(status()).not.toHaveProperty('completedIndexes')
  change({ completions: 4, parallelism: 4 })
  await settled()
  const open = pods().filter((pod) => !readPod(pod).finished)
  expect(open.map((pod) => readPod(pod).hostname)).toEqual(['web-0', 'web-1', 'web-2', 'web-3'])
})

test('with less parallelism Pods go that have done least, and do not count', async () => {
  const { settled, happens, change, shown, status } = scene(job({ parallelism: 3, completions: 9 }))
  await settled()
  await happens(['bind', 'ready'])
  change({ parallelism: 1 })
  await settled()
  expect(shown()).toBe('Running')
  expect(status()).toMatchObject({ active: 1 })
  expect(status()).not.toHaveProperty('failed')
})

test('of very many Pods 500 are made, and counted, at a time', async () => {
  const many = 600
  const { run, pods, act, settled, status } = scene(job({ parallelism: many, completions: many }))
  await run()
  await run()
  expect(pods()).toHaveLength(500)
  await settled()
  expect(pods()).toHaveLength(many)
  for (const event of ['bind', 'succeed'] as const) {
    for (const pod of pods()) act(pod, event, NOW)
  }
  await run()
  expect(stringsAt(status(), 'uncountedTerminatedPods', 'succeeded')).toHaveLength(500)
  await settled()
  expect(status()).toMatchObject({ succeeded: many })
})

test('a Pod that is deleted has failed, is replaced at once, and goes', async () => {
  const { settled, happens, shown, status, pods } = scene(job())
  await settled()
  await happens(['bind', 'ready', 'delete'])
  expect(shown()).toBe('Pending Running-')
  expect(status()).toMatchObject({ failed: 1, active: 1, terminating: 1 })
  const [deleted] = pods()
    .map(readPod)
    .filter(({ meta }) => meta.terminating)
  expect(deleted?.meta.finalizers).toEqual([])
})

test('a Pod that is deleted when it has ended counts once, and as it ended', async () => {
  const { settled, act, pods, status, shown, happens } = scene(job({ completions: 2 }))
  await settled()
  for (const event of ['bind', 'succeed', 'delete', 'delete'] as const) act(pods()[0]!, event, NOW)
  expect(shown()).toBe('Succeeded-')
  await settled()
  expect(shown()).toBe('Pending')
  await happens(['bind', 'succeed'])
  act(pods()[0]!, 'delete', NOW)
  await settled()
  expect([shown(), status()['succeeded'], status()['failed']]).toEqual(['', 2, undefined])
})

test('with podReplacementPolicy Failed it is replaced when it has ended', async () => {
  const { settled, happens, shown, status } = scene(job({ podReplacementPolicy: 'Failed' }))
  await settled()
  await happens(['bind', 'ready', 'delete'])
  expect(shown()).toBe('Running-')
  expect(status()).toMatchObject({ terminating: 1 })
  await happens(['end'])
  expect(shown()).toBe('Pending')
  expect(status()).toMatchObject({ failed: 1, active: 1, terminating: 0 })
})

test('of a Job that is gone Pods lose the finalizer, once the server says so', async () => {
  const { settled, happens, cluster, pods, get } = scene(job())
  await settled()
  await happens(['bind'])
  const before = cluster.view.jobs.get('shop/web')!
  const key = `pod ${readPod(pods()[0]!).meta.key}`
  const run = () => reconcile(cluster, { controller: jobController, key })
  const watched = () => [
    ...jobController.watches.jobs!({ key: 'shop/web', before, after: undefined }, cluster.view),
  ]
  expect(await run()).toEqual([])
  expect(watched()).toEqual(['shop/web'])
  cluster.hold()
  cluster.notify('jobs', mergePatch(get(), { metadata: { uid: 'later' } }) as JsonObject)
  expect(watched()).toEqual(['shop/web', key])
  cluster.put('jobs', mergePatch(get(), { metadata: { uid: 'job' } }) as JsonObject)
  await expect(run()).rejects.toThrow('still there')
  cluster.remove('jobs', 'shop/web')
  cluster.release()
  const [after] = cluster.view.pods.values()
  const ofPod = jobController.watches.pods!({ key: '', before: undefined, after }, cluster.view)
  expect([...ofPod]).toEqual([key])
  await run()
  expect(readPod(pods()[0]!).meta.finalizers).toEqual([])
  expect(await run()).toEqual([])
})

test('a Pod that no Job controls any more loses the finalizer', async () => {
  const { cluster, pods } = scene(job({}, { deletionTimestamp: START }))
  const metadata = { name: 'left', namespace: 'shop', finalizers: ['other', TRACKING] }
  cluster.put('pods', { metadata, spec: { nodeName: 'node-a' } })
  await reconcile(cluster, { controller: jobController, key: 'pod shop/left' })
  expect(readPod(pods()[0]!).meta.finalizers).toEqual(['other'])
})

test('a Pod that is not selected any more loses the finalizer also while it is being deleted', async () => {
  const { cluster, settled, pods } = scene(job())
  await settled()
  const { key } = readPod(pods()[0]!).meta
  const metadata = { labels: null, deletionTimestamp: START }
  cluster.put('pods', mergePatch(pods()[0], { metadata }) as JsonObject)
  await settled()
  await reconcile(cluster, { controller: jobController, key: `pod ${key}` })
  expect(cluster.get('pods', key)).toBeUndefined()
  expect(pods()).toHaveLength(1)
})

test('Pods that it selects are adopted with the finalizer, and count', async () => {
  const { cluster, settled, status } = scene(job({ completions: 2 }))
  const labels = { 'batch.kubernetes.io/controller-uid': 'job' }
  cluster.put('pods', {
    metadata: { name: 'orphan', namespace: 'shop', labels },
    status: { phase: 'Succeeded' },
  })
  await settled()
  expect(status()).toMatchObject({ succeeded: 1, active: 1 })
})

test('a refused creation is one Event and a condition, which goes when it succeeds', async () => {
  const { cluster, run, settled, get } = scene(job())
  await run()
  const { intercept } = cluster
  cluster.intercept = async (write) =>
    write.verb === 'create' ? refusal(403, 'no space') : undefined
  for (let attempt = 0; attempt < 3; attempt++) await expect(run()).rejects.toThrow('no space')
  expect(cluster.log.filter((one) => one.startsWith('record'))).toEqual([
    'record FailedCreate shop/web',
  ])
  expect(conditionOf(get(), 'ReplicaFailure')).toMatchObject({ message: 'no space' })
  cluster.intercept = intercept
  await settled()
  expect(conditionOf(get(), 'ReplicaFailure')).toEqual({})
})

test('a Job that is being deleted makes no Pods', async () => {
  const { settled, pods } = scene(job({}, { deletionTimestamp: START }))
  await settled()
  expect(pods()).toEqual([])
})

test('a Job that has ended makes no Pods, and is deleted in its time, after its Pods', async () => {
  const { settled, happens, cluster, pods, change, get } = scene(
    job({ ttlSecondsAfterFinished: 30 }),
  )
  const look = (now: number) =>
    ttlAfterFinishedController.reconcile('shop/web', cluster.view, now, 0)
  await settled()
  expect(look(NOW + 1e9)).toEqual({ writes: [] })
  await happens(['bind', 'succeed'])
  for (const pod of pods()) cluster.remove('pods', readPod(pod).meta.key)
  change({ parallelism: 5 })
  expect(await settled()).toEqual([])
  expect(look(NOW + 10_000)).toEqual({ writes: [], againMs: 20_000 })
  const options = { controller: ttlAfterFinishedController, now: NOW + 30_000 }
  cluster.hold()
  change({ ttlSecondsAfterFinished: 60 })
  await expect(reconcile(cluster, options)).rejects.toThrow('modified')
  change({ ttlSecondsAfterFinished: 30 })
  cluster.release()
  expect(await reconcile(cluster, options)).toEqual(['delete jobs/shop/web'])
  expect(stringsAt(get(), 'metadata', 'finalizers')).toEqual(['foregroundDeletion'])
  expect(look(NOW + 30_000)).toEqual({ writes: [] })
})

test('without ttlSecondsAfterFinished a Job stays', async () => {
  const { settled, happens, cluster } = scene(job())
  await settled()
  await happens(['bind', 'succeed'])
  const found = ttlAfterFinishedController.reconcile('shop/web', cluster.view, NOW + 1e12, 0)
  expect(found).toEqual({ writes: [] })
  expect(valueAt(cluster.get('jobs', 'shop/web'), 'status', 'succeeded')).toBe(1)
})
