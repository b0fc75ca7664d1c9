import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, mergePatch, stringAt } from '../../lib/json.ts'
import { readPod } from '../objects/pod-object.ts'
import { refusal } from '../testing/fake-cluster.ts'
import { conditionOf } from '../testing/fixtures.ts'
import { daemonSetController } from './daemonset-controller.ts'
import { daemonSet, NOW, node, daemonScene as scene, template } from './testing/daemon-scene.ts'
import { labelOf } from './testing/simulated-nodes.ts'

const REVISION = 'controller-revision-hash'

test('each node gets a Pod that the scheduler binds to it, of the revision of the template', async () => {
  const { run, settled, cluster, pods, serve, status } = scene(daemonSet(), node('a'), node('b'))
  expect(await run()).toEqual([expect.stringMatching(/^create controllerrevisions\/shop\/web-/)])
  expect(await run()).toEqual([
    'create pods/shop/',
    'record SuccessfulCreate shop/web',
    'create pods/shop/',
    'record SuccessfulCreate shop/web',
    'patch daemonsets/shop/web',
  ])
  const [revision] = cluster.all('controllerrevisions')
  const hash = labelOf(revision!, REVISION)
  expect(stringAt(revision, 'metadata', 'name')).toBe(`web-${hash}`)
  expect(pods()[0]).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^web-/),
      labels: { app: 'web', [REVISION]: hash },
      ownerReferences: [{ kind: 'DaemonSet', uid: 'ds', controller: true }],
    },
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] },
            ],
          },
        },
      },
    },
  })
  expect(pods()[0]).not.toHaveProperty('spec.nodeName')
  await settled()
  serve(NOW)
  await settled()
  expect(status()).toEqual({
    observedGeneration: 3,
    desiredNumberScheduled: 2,
    currentNumberScheduled: 2,
    numberReady: 2,
    numberAvailable: 2,
    updatedNumberScheduled: 2,
    numberMisscheduled: 0,
  })
})

const NO_EXECUTE = { taints: [{ key: 'x', effect: 'NoExecute' }] }
const NO_SCHEDULE = { taints: [{ key: 'x', effect: 'NoSchedule' }] }
const taint = (key: string, effect: string): JsonObject => ({ taints: [{ key, effect }] })

test.each<[string, JsonObject, JsonObject, boolean]>([
  ['a node', node('a'), {}, true],
  [
    'one that the selector selects',
    node('a', {}, { os: 'linux' }),
    { nodeSelector: { os: 'linux' } },
    true,
  ],
  ['one that it does not select', node('a'), { nodeSelector: { os: 'linux' } }, false],
  ['another one than the template names', node('a'), { nodeName: 'b' }, false],
  ['the one that the template names', node('a'), { nodeName: 'a' }, true],
  ['one with a taint', node('a', NO_SCHEDULE), {}, false],
  [
    'one with a tolerated taint',
    node('a', NO_SCHEDULE),
    { tolerations: [{ operator: 'Exists' }] },
    true,
  ],
  ['one that is cordoned', node('a', { unschedulable: true }), {}, true],
  ['one not ready', node('a', taint('node.kubernetes.io/not-ready', 'NoExecute')), {}, true],
  ['one not reached', node('a', taint('node.kubernetes.io/unreachable', 'NoExecute')), {}, true],
  [
    'one short of disk',
    node('a', taint('node.kubernetes.io/disk-pressure', 'NoSchedule')),
    {},
    true,
  ],
  [
    'one short of memory',
    node('a', taint('node.kubernetes.io/memory-pressure', 'NoSchedule')),
    {},
    true,
  ],
  [
    'one short of processes',
    node('a', taint('node.kubernetes.io/pid-pressure', 'NoSchedule')),
    {},
    true,
  ],
  [
    'one without network',
    node('a', taint('node.kubernetes.io/network-unavailable', 'NoSchedule')),
    {},
    false,
  ],
  [
    'one without network, of a Pod on the network of its node',
    node('a', taint('node.kubernetes.io/network-unavailable', 'NoSchedule')),
    { hostNetwork: true },
    true,
  ],
])('%s', async (_, one, spec, expected) => {
  const { settled, used, status } = scene(daemonSet({ template: template(spec) }), one)
  await settled()
  expect(used()).toEqual(expected ? ['a'] : [])
  expect(status()['desiredNumberScheduled']).toBe(expected ? 1 : 0)
})

test('the tolerations that every Pod gets replace the same ones of the template', async () => {
  const own = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' }
  const spec = {
    tolerations: [
      { ...own, tolerationSeconds: 5 },
      { key: 'x', operator: 'Exists' },
    ],
  }
  const { settled, pods } = scene(daemonSet({ template: template(spec) }), node('a'))
  await settled()
  const tolerations = arrayAt(pods()[0], 'spec', 'tolerations')
  expect(tolerations).toHaveLength(7)
  expect(tolerations.slice(0, 2)).toEqual([{ key: 'x', operator: 'Exists' }, own])
})

test('a Pod stays on a node that gets a taint NoSchedule, and leaves one that gets NoExecute', async () => {
  const { cluster, settled, used, status, serve } = scene(daemonSet(), node('a'), node('b'))
  await settled()
  serve(NOW)
  cluster.put('nodes', node('a', NO_SCHEDULE))
  cluster.put('nodes', node('b', NO_EXECUTE))
  expect(await settled()).toContain('record SuccessfulDelete shop/web')
  serve(NOW)
  await settled()
  expect(used()).toEqual(['a'])
  expect(status()).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 })
})

test('a Pod that waits for a node that is gone is deleted; one that was on it is left to the collector', async () => {
  const { cluster, settled, used, act, pods } = scene(daemonSet(), node('a'), node('b'))
  await settled()
  act(pods()[0]!, 'bind', NOW)
  cluster.remove('nodes', 'a')
  cluster.remove('nodes', 'b')
  await settled()
  expect(used()).toEqual(['a'])
})

test('of two Pods of a node the one that is bound stays, then the older one', async () => {
  const { cluster, settled, pods, serve } = scene(daemonSet(), node('a'))
  await settled()
  const [first] = pods()
  serve(NOW)
  const other = mergePatch(first, { metadata: { name: 'web-0', uid: 'other' } }) as JsonObject
  cluster.put('pods', other)
  expect(await settled()).toContain('delete pods/shop/web-0')
  expect(pods()).toHaveLength(1)
})

test('a Pod that has ended is replaced at once, and the next ones later and later', async () => {
  const { run, settled, pods, act, cluster } = scene(daemonSet(), node('a'))
  await settled()
  const endAt = (now: number) => {
    act(pods()[0]!, 'bind', now)
    act(pods()[0]!, 'fail', now)
  }
  endAt(NOW)
  expect(await run()).toEqual([
    expect.stringMatching(/^delete pods/),
    'record FailedDaemonPod shop/web',
    'record SuccessfulDelete shop/web',
    'create pods/shop/',
    'record SuccessfulCreate shop/web',
  ])
  let now = NOW
  for (const [delay, count] of [
    [1_000, '1'],
    [2_000, '2'],
    [4_000, '3'],
  ] as const) {
    expect(stringAt(pods()[0], 'metadata', 'annotations', 'orch.io/ended-before')).toBe(count)
    endAt(now)
    await settled(now + delay - 1_000)
    const { againMs } = daemonSetController.reconcile('shop/web', cluster.view, now, 0)
    expect([readPod(pods()[0]!).phase, againMs]).toEqual(['Failed', delay])
    now += delay
    await settled(now)
    expect(readPod(pods()[0]!).phase).not.toBe('Failed')
  }
})

test('a Pod that lived for long, or has another template, is replaced at once when it ends', async () => {
  const { settled, pods, act, change } = scene(daemonSet(), node('a'))
  const count = () => stringAt(pods()[0], 'metadata', 'annotations', 'orch.io/ended-before')
  await settled()
  for (let i = 0; i < 3; i++) {
    act(pods()[0]!, 'bind', NOW)
    act(pods()[0]!, 'succeed', NOW)
    await settled(NOW + 900_000)
  }
  expect(count()).toBe('3')
  act(pods()[0]!, 'bind', NOW)
  act(pods()[0]!, 'fail', NOW)
  await settled(NOW + 1_800_001)
  expect(count()).toBe('1')
  act(pods()[0]!, 'bind', NOW)
  act(pods()[0]!, 'fail', NOW)
  change({ template: template({ containers: [{ name: 'main', image: 'b' }] }) })
  await settled(NOW)
  expect([readPod(pods()[0]!).phase, count()]).toEqual(['', '1'])
})

test('a refused creation is one Event and a condition, which goes when it succeeds', async () => {
  const { cluster, run, settled, status } = scene(daemonSet(), node('a'))
  await run()
  const { intercept } = cluster
  let pods = 0
  cluster.intercept = async (write) =>
    write.verb === 'create' && write.collection === 'pods'
      ? refusal(403, `no space for web-${++pods}`)
      : undefined
  for (let attempt = 0; attempt < 2; attempt++) await expect(run()).rejects.toThrow('no space')
  expect(cluster.log.filter((one) => one.startsWith('record'))).toEqual([
    'record FailedCreate shop/web',
  ])
  expect(conditionOf(cluster.get('daemonsets', 'shop/web'), 'ReplicaFailure')).toMatchObject({
    status: 'True',
    reason: 'FailedCreate',
    message: 'no space for web-1',
  })
  expect(status()).toMatchObject({ observedGeneration: 3, desiredNumberScheduled: 1 })
  cluster.intercept = intercept
  await settled()
  expect(status()['conditions']).toEqual([])
})

test('a DaemonSet that is being deleted makes no Pods', async () => {
  const deletionTimestamp = '2029-12-31T23:00:00Z'
  const { settled, pods } = scene(daemonSet({}, { deletionTimestamp }), node('a'))
  await settled()
  expect(pods()).toEqual([])
})

test('a change of a node concerns the sets to which it matters, and no heartbeat does', () => {
  const { cluster } = scene(
    daemonSet({ template: template({ nodeSelector: { a: 'b' } }) }),
    node('a'),
  )
  const { nodes } = daemonSetController.watches
  const before = cluster.view.nodes.get('a')!
  const other = { ...before, meta: { ...before.meta, labels: { a: 'b' } } }
  const affected = (from: typeof before | undefined, to: typeof before | undefined) => [
    ...nodes!({ key: 'a', before: from, after: to }, cluster.view),
  ]
  expect(affected(before, { ...before, heartbeatAt: 'x' })).toEqual([])
  expect(affected(before, other)).toEqual(['shop/web'])
  expect(affected(other, undefined)).toEqual(['shop/web'])
  expect(affected(undefined, other)).toEqual(['shop/web'])
})

test('a change of a revision concerns the set that it names', async () => {
  const { cluster, run } = scene(daemonSet(), node('a'))
  await run()
  const [before] = cluster.view.controllerrevisions.values()
  const { controllerrevisions } = daemonSetController.watches
  const affected = controllerrevisions!(
    { key: before!.meta.key, before, after: undefined },
    cluster.view,
  )
  expect([...affected]).toEqual(['shop/web'])
})

test('Pods of nodes that are not ready count as they are', async () => {
  const { settled, pods, act, status } = scene(daemonSet(), node('a'))
  await settled()
  act(pods()[0]!, 'bind', NOW)
  await settled()
  expect(status()).toMatchObject({
    currentNumberScheduled: 1,
    numberReady: 0,
    numberUnavailable: 1,
  })
})
