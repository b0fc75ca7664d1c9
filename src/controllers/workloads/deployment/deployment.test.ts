import { expect, test } from 'vitest'
import {
  arrayAt,
  type JsonObject,
  mergePatch,
  objectAt,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { readWorkload } from '../../objects/workload-object.ts'
import { createFakeCluster, type FakeCluster, refusal } from '../../testing/fake-cluster.ts'
import { conditionOf } from '../../testing/fixtures.ts'
import { reconcile } from '../../testing/reconcile.ts'
import { runControllers } from '../../testing/run-controllers.ts'
import { deploymentController } from '../deployment-controller.ts'
import { isSameTemplate, templateHash } from './owned-sets.ts'
import { limitsOf } from './rollout-limits.ts'

const NOW = Date.UTC(2030, 0, 1)
const KEY = 'shop/web'
const PREFIX = 'deployment.kubernetes.io'
const OWNER = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  name: 'web',
  uid: 'd',
  controller: true,
  blockOwnerDeletion: true,
}

function template(version: string, labels: JsonObject = {}): JsonObject {
  const containers = [{ name: 'main', image: `web:${version}` }]
  return { metadata: { labels: { app: 'web', ...labels } }, spec: { containers } }
}

function deployment(parts: JsonObject = {}): JsonObject {
  const spec = {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: template('2'),
    progressDeadlineSeconds: 600,
  }
  const metadata = { name: 'web', namespace: 'shop', uid: 'd', generation: 4 }
  return mergePatch({ metadata, spec }, parts) as JsonObject
}

interface SetParts {
  /** Pods that are ready. */
  readonly ready?: number
  /** Pods that are not. */
  readonly waiting?: number
  readonly version?: string
  readonly parts?: JsonObject
  readonly annotations?: JsonObject
}

/** A ReplicaSet of the Deployment with its Pods; without others it has the Pods that it wants, all ready. */
function add(cluster: FakeCluster, name: string, replicas: number, more: SetParts = {}): void {
  const { ready = replicas, waiting = 0, version = name, parts = {}, annotations = {} } = more
  const labels = { app: 'web', 'pod-template-hash': name }
  const object = {
    metadata: { name, namespace: 'shop', uid: name, labels, annotations, ownerReferences: [OWNER] },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: template(version, { 'pod-template-hash': name }),
    },
    status: { replicas: ready + waiting, readyReplicas: ready, availableReplicas: ready },
  }
  cluster.put('replicasets', mergePatch(object, parts) as JsonObject)
  for (let serial = 0; serial < ready + waiting; serial++) {
    const status = serial < ready ? 'True' : 'False'
    const reference = { kind: 'ReplicaSet', name, uid: name, controller: true }
    const metadata = { name: `${name}-${serial}`, namespace: 'shop', labels }
    cluster.put('pods', {
      metadata: { ...metadata, ownerReferences: [reference] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status }] },
    })
  }
}

function scene(parts: JsonObject = {}) {
  const cluster = createFakeCluster()
  cluster.put('deployments', deployment(parts))
  return {
    cluster,
    run: (now = NOW) => reconcile(cluster, { controller: deploymentController, now }),
    /** Reconciles until nothing is written. */
    async settle(now = NOW): Promise<void> {
      const run = () => reconcile(cluster, { controller: deploymentController, now })
      for (let round = 0; (await run()).length > 0; round++) expect(round).toBeLessThan(20)
    },
    edit(changes: JsonObject): void {
      const known = cluster.get('deployments', KEY)!
      cluster.put('deployments', mergePatch(known, changes) as JsonObject)
    },
    again: (now = NOW) => deploymentController.reconcile(KEY, cluster.view, now, 0).againMs,
    status: () => objectAt(cluster.get('deployments', KEY), 'status'),
    condition: (type: string) => conditionOf(cluster.get('deployments', KEY), type),
    /** The sizes of the ReplicaSets by their names. */
    sizes: () =>
      Object.fromEntries(
        cluster
          .all('replicasets')
          .map((set) => [stringAt(set, 'metadata', 'name'), valueAt(set, 'spec', 'replicas')]),
      ),
  }
}

const rolling = (maxSurge: number | string, maxUnavailable: number | string): JsonObject => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge, maxUnavailable },
})

test('a Deployment gets a ReplicaSet of its template, with the hash in name, labels and selector', async () => {
  const { cluster, run, status, condition } = scene({
    metadata: {
      annotations: { team: 'a', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    },
    spec: { strategy: rolling('25%', '25%'), minReadySeconds: 5 },
  })
  const hash = templateHash(template('2'), 0)
  expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{10}$/)
  const name = `web-${hash}`
  expect(await run()).toEqual([
    `create replicasets/shop/${name}`,
    'record ScalingReplicaSet shop/web',
    'patch deployments/shop/web',
  ])
  const labels = { app: 'web', 'pod-template-hash': hash }
  expect(cluster.get('replicasets', `shop/${name}`)).toMatchObject({
    metadata: {
      labels,
      ownerReferences: [OWNER],
      annotations: {
        team: 'a',
        [`${PREFIX}/revision`]: '1',
        [`${PREFIX}/desired-replicas`]: '3',
        [`${PREFIX}/max-replicas`]: '4',
      },
    },
    spec: {
      replicas: 3,
      minReadySeconds: 5,
      selector: { matchLabels: labels },
      template: template('2', { 'pod-template-hash': hash }),
    },
  })
  expect(cluster.all('replicasets')[0]).not.toHaveProperty([
    'metadata',
    'annotations',
    'kubectl.kubernetes.io/last-applied-configuration',
  ])
  expect(condition('Progressing')).toMatchObject({
    status: 'True',
    reason: 'NewReplicaSetCreated',
    message: `Created new replica set "${name}"`,
    lastUpdateTime: '2030-01-01T00:00:00Z',
  })
  expect(status()).toMatchObject({ observedGeneration: 4 })
  expect(await run()).toEqual(['patch deployments/shop/web'])
  expect(cluster.get('deployments', KEY)).toMatchObject({
    metadata: { annotations: { [`${PREFIX}/revision`]: '1' } },
  })
})

test('the Event of a scaling names the ReplicaSet and its size', () => {
  const { cluster } = scene()
  const [create] = deploymentController.reconcile(KEY, cluster.view, NOW, 0).writes
  const [event] = (create?.verb === 'create' && create.done?.('')) || []
  expect(event).toMatchObject({
    body: {
      reason: 'ScalingReplicaSet',
      message: `Scaled up replica set web-${templateHash(template('2'), 0)} to 3`,
      source: { component: 'deployment-controller' },
      involvedObject: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    },
  })
})

test.each<[number, JsonObject | undefined, number, number]>([
  [3, rolling('25%', '25%'), 4, 3],
  [10, rolling('25%', '25%'), 13, 8],
  [10, rolling(2, 3), 12, 7],
  [1, rolling(0, '25%'), 1, 0],
  [3, rolling(0, 0), 3, 2],
  [0, rolling(0, 0), 0, 0],
  [2, rolling('0%', 5), 2, 0],
  [3, { type: 'Recreate' }, 3, 3],
  [3, undefined, 3, 2],
])(
  'of %d Pods with %j: at most %d in all, at least %d available',
  (replicas, strategy, most, least) => {
    const spec = { replicas, ...(strategy && { strategy }) }
    const { maxTotal, minAvailable } = limitsOf(readWorkload(deployment({ spec })))
    expect([maxTotal, minAvailable]).toEqual([most, least])
  },
)

/** Ready and other Pods of the old and of the new ReplicaSet. */
type Pods = readonly [ready: number, waiting: number]

test.each<[string, JsonObject, Pods, Pods, JsonObject]>([
  ['the new one grows by the surge', rolling(1, 0), [4, 0], [0, 0], { 1: 4, 2: 1 }],
  ['without surge the old one shrinks first', rolling(0, 1), [4, 0], [0, 0], { 1: 3, 2: 0 }],
  ['the new one fills what the old one left', rolling(0, 1), [3, 0], [0, 0], { 1: 3, 2: 1 }],
  ['new Pods that are not available keep old ones', rolling(1, 0), [4, 0], [0, 1], { 1: 4, 2: 1 }],
  [
    'for a new Pod that is available an old one goes',
    rolling(1, 0),
    [4, 0],
    [1, 0],
    { 1: 3, 2: 1 },
  ],
  [
    'Pods that are not available go first, as many as need be',
    rolling(1, 0),
    [3, 1],
    [0, 1],
    { 1: 4, 2: 1 },
  ],
  ['an old Pod that is not available goes', rolling(0, 1), [2, 2], [0, 0], { 1: 3, 2: 0 }],
  ['all that may be missing go at once', rolling(0, '50%'), [4, 0], [0, 0], { 1: 2, 2: 0 }],
  ['the last old ones go', rolling(1, 0), [1, 0], [4, 0], { 1: 0, 2: 4 }],
])('in a rolling update %s', async (_, strategy, old, next, expected) => {
  const { cluster, sizes, settle } = scene({ spec: { replicas: 4, strategy } })
  add(cluster, '1', old[0] + old[1], { ready: old[0], waiting: old[1] })
  add(cluster, '2', next[0] + next[1], { ready: next[0], waiting: next[1] })
  await settle()
  expect(sizes()).toEqual(expected)
})

test('of several old ReplicaSets the unhealthy Pods of all go before the healthy ones of the oldest', async () => {
  const { cluster, sizes, settle } = scene({ spec: { replicas: 4, strategy: rolling(0, 2) } })
  add(cluster, '0', 2)
  add(cluster, '1', 2, { ready: 0, waiting: 2 })
  add(cluster, '2', 0)
  await settle()
  expect(sizes()).toEqual({ 0: 2, 1: 0, 2: 0 })
})

test('Pods that are too many and not deleted yet count for the surge', async () => {
  const { cluster, sizes, settle } = scene({ spec: { replicas: 4, strategy: rolling(0, 2) } })
  add(cluster, '1', 2, { ready: 4 })
  add(cluster, '2', 0)
  await settle()
  expect(sizes()).toEqual({ 1: 2, 2: 0 })
})

/** `desired` and `max` are what the ReplicaSets were scaled for. */
test.each<[string, number, JsonObject, { desired: number; max: number }, JsonObject, JsonObject]>([
  ['up', 10, rolling(0, 1), { desired: 5, max: 5 }, { 1: 3, 2: 2 }, { 1: 6, 2: 4 }],
  ['down', 5, rolling(0, 1), { desired: 10, max: 10 }, { 1: 4, 2: 6 }, { 1: 2, 2: 3 }],
  [
    'up from no known size',
    10,
    rolling(0, 1),
    { desired: 5, max: 0 },
    { 1: 2, 2: 3 },
    { 1: 2, 2: 8 },
  ],
  [
    'up with a surge',
    10,
    rolling('20%', 0),
    { desired: 5, max: 6 },
    { 1: 4, 2: 2 },
    { 1: 8, 2: 4 },
  ],
  ['to nothing', 0, rolling(0, 1), { desired: 3, max: 3 }, { 1: 2, 2: 1 }, { 1: 0, 2: 0 }],
  [
    'up, the rest to the newest of equal ones',
    4,
    rolling(0, 1),
    { desired: 2, max: 2 },
    { 1: 1, 2: 1 },
    { 1: 2, 2: 2 },
  ],
  [
    'up by one, which the newest of equal ones gets',
    3,
    rolling(0, 1),
    { desired: 2, max: 2 },
    { 1: 1, 2: 1 },
    { 1: 1, 2: 2 },
  ],
])(
  'in the middle of a rollout a Deployment is scaled %s',
  async (_, replicas, strategy, at, before, after) => {
    const { cluster, sizes, run } = scene({ spec: { replicas, strategy } })
    for (const [name, size] of Object.entries(before)) {
      const annotations = {
        [`${PREFIX}/revision`]: name,
        [`${PREFIX}/desired-replicas`]: String(at.desired),
        [`${PREFIX}/max-replicas`]: String(at.max),
      }
      add(cluster, name, Number(size), {
        annotations,
        parts: { metadata: { creationTimestamp: `2029-01-0${name}T00:00:00Z` } },
      })
    }
    await run()
    await run()
    expect(sizes()).toEqual(after)
    if (replicas === 0) return
    const annotations = { [`${PREFIX}/desired-replicas`]: String(replicas) }
    expect(cluster.all('replicasets')).toMatchObject([
      { metadata: { annotations } },
      { metadata: { annotations } },
    ])
  },
)

test('a ReplicaSet that somebody scaled to what the Deployment wants now does not stop a rollout', async () => {
  const { cluster, sizes, settle } = scene({ spec: { strategy: rolling(1, 0) } })
  add(cluster, '1', 3, { annotations: { [`${PREFIX}/desired-replicas`]: '2' } })
  await settle()
  expect(Object.values(sizes())).toEqual([3, 1])
})

test('a paused Deployment is scaled, and makes no ReplicaSet of a new template', async () => {
  const { cluster, sizes, settle, condition, edit, run } = scene({
    spec: { paused: true, replicas: 5 },
  })
  add(cluster, '1', 3)
  await settle()
  expect(sizes()).toEqual({ 1: 5 })
  expect(condition('Progressing')).toMatchObject({ status: 'Unknown', reason: 'DeploymentPaused' })
  edit({ spec: { paused: false } })
  await run()
  expect(Object.keys(sizes())).toHaveLength(2)
  expect(condition('Progressing')).toMatchObject({ reason: 'NewReplicaSetCreated' })
})

test('a Deployment that goes on says so', async () => {
  const { cluster, settle, condition, edit } = scene({ spec: { paused: true } })
  add(cluster, '2', 3, { ready: 0, waiting: 3 })
  await settle()
  edit({ spec: { paused: false } })
  await settle()
  expect(condition('Progressing')).toMatchObject({ status: 'Unknown', reason: 'DeploymentResumed' })
})

test('Recreate makes the first new Pod when the last old one is gone', async () => {
  const { cluster, sizes, settle } = scene({ spec: { strategy: { type: 'Recreate' } } })
  add(cluster, '1', 3, { ready: 1, waiting: 1 })
  await settle()
  expect(sizes()).toEqual({ 1: 0 })
  const counted = cluster.get('replicasets', 'shop/1')!
  cluster.put('replicasets', { ...counted, status: {} })
  cluster.remove('pods', 'shop/1-0')
  const last = cluster.get('pods', 'shop/1-1')!
  const metadata = { ...objectAt(last, 'metadata'), deletionTimestamp: '2030-01-01T00:00:00Z' }
  cluster.put('pods', { ...last, metadata })
  await settle()
  expect(sizes()).toEqual({ 1: 0 })
  cluster.put('pods', { ...last, metadata, status: { phase: 'Failed' } })
  await settle()
  expect(Object.values(sizes())).toEqual([0, 3])
})

test('a rollout reports its progress, and its end', async () => {
  const { cluster, settle, condition, status } = scene({ spec: { strategy: rolling(1, 0) } })
  add(cluster, '2', 3, { ready: 1, waiting: 2 })
  await settle()
  expect(condition('Progressing')).toMatchObject({
    reason: 'ReplicaSetUpdated',
    message: 'ReplicaSet "2" is progressing.',
  })
  expect(condition('Available')).toMatchObject({
    status: 'False',
    reason: 'MinimumReplicasUnavailable',
    message: 'Deployment does not have minimum availability.',
  })
  expect(status()).toMatchObject({
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 1,
    availableReplicas: 1,
    unavailableReplicas: 2,
  })
  add(cluster, '2', 3)
  await settle(NOW + 5_000)
  expect(condition('Progressing')).toEqual({
    type: 'Progressing',
    status: 'True',
    reason: 'NewReplicaSetAvailable',
    message: 'ReplicaSet "2" has successfully progressed.',
    lastUpdateTime: '2030-01-01T00:00:05Z',
    lastTransitionTime: '2030-01-01T00:00:00Z',
  })
  expect(condition('Available')).toMatchObject({
    status: 'True',
    reason: 'MinimumReplicasAvailable',
    message: 'Deployment has minimum availability.',
  })
  expect(status()).not.toHaveProperty('unavailableReplicas')
})

test('a ReplicaSet that was there before is found', async () => {
  const { cluster, settle, condition } = scene()
  add(cluster, '2', 3, { ready: 0, parts: { status: null } })
  await settle()
  expect(condition('Progressing')).toMatchObject({
    reason: 'FoundNewReplicaSet',
    message: 'Found new replica set "2"',
  })
})

test('a rollout without progress for progressDeadlineSeconds has failed, until there is progress', async () => {
  const { cluster, settle, condition, again, edit } = scene({
    spec: { progressDeadlineSeconds: 60 },
  })
  add(cluster, '2', 3, { ready: 0, waiting: 3 })
  await settle()
  expect(again()).toBe(61_000)
  await settle(NOW + 60_000)
  expect(condition('Progressing')).toMatchObject({ reason: 'ReplicaSetUpdated' })
  await settle(NOW + 61_000)
  expect(condition('Progressing')).toMatchObject({
    status: 'False',
    reason: 'ProgressDeadlineExceeded',
    message: 'ReplicaSet "2" has timed out progressing.',
    lastTransitionTime: '2030-01-01T00:01:01Z',
  })
  expect(again(NOW + 61_000)).toBeUndefined()
  edit({ spec: { paused: true } })
  await settle(NOW + 61_000)
  expect(condition('Progressing')).toMatchObject({ reason: 'ProgressDeadlineExceeded' })
  edit({ spec: { paused: false } })
  add(cluster, '2', 3, { ready: 1, waiting: 2 })
  await settle(NOW + 90_000)
  expect(condition('Progressing')).toMatchObject({ status: 'True', reason: 'ReplicaSetUpdated' })
})

test('what is complete stays so when Pods fail later', async () => {
  const { cluster, settle, condition } = scene()
  add(cluster, '2', 3)
  await settle()
  add(cluster, '2', 3, { ready: 0, waiting: 3 })
  await settle(NOW + 3_600_000)
  expect(condition('Progressing')).toMatchObject({ reason: 'NewReplicaSetAvailable' })
  expect(condition('Available')).toMatchObject({ status: 'False' })
  add(cluster, '2', 3, { ready: 1, waiting: 2 })
  await settle(NOW + 3_600_000)
  expect(condition('Progressing')).toMatchObject({ reason: 'NewReplicaSetAvailable' })
  add(cluster, '1', 0, { waiting: 1 })
  await settle(NOW + 3_600_000)
  expect(condition('Progressing')).toMatchObject({ reason: 'NewReplicaSetAvailable' })
})

test('without a deadline there is no condition Progressing', async () => {
  const { cluster, settle, status, edit } = scene()
  add(cluster, '2', 3, { ready: 2, waiting: 1 })
  await settle()
  edit({ spec: { progressDeadlineSeconds: 2 ** 31 - 1 } })
  await settle()
  expect(status()).toMatchObject({ conditions: [{ type: 'Available' }] })
})

test('old ReplicaSets above revisionHistoryLimit are deleted, those of the lowest revisions', async () => {
  const { cluster, sizes, settle } = scene({ spec: { revisionHistoryLimit: 1, paused: true } })
  const revision = (serial: number) => ({ annotations: { [`${PREFIX}/revision`]: String(serial) } })
  add(cluster, 'a', 0, revision(3))
  add(cluster, 'b', 0, revision(1))
  add(cluster, 'c', 0, { ...revision(2), parts: { status: { replicas: 1 } } })
  add(cluster, 'd', 0, { ...revision(2), parts: { metadata: { generation: 2 } } })
  add(cluster, '2', 3, revision(4))
  await settle()
  expect(Object.keys(sizes())).toEqual(['2', 'a', 'c', 'd'])
})

test('no ReplicaSet is deleted before the rollout is complete', async () => {
  const { cluster, sizes, settle } = scene({ spec: { revisionHistoryLimit: 0 } })
  add(cluster, '1', 0)
  add(cluster, '2', 3, { ready: 2, waiting: 1 })
  await settle()
  expect(sizes()).toEqual({ 1: 0, 2: 3 })
  add(cluster, '2', 3)
  await settle()
  expect(sizes()).toEqual({ 2: 3 })
})

test('a template that is rolled back to gets the next revision, and its history', async () => {
  const { cluster, settle } = scene({ metadata: { annotations: { note: 'x' } } })
  const revisions = (revision: string, history?: string) => ({
    [`${PREFIX}/revision`]: revision,
    ...(history !== undefined && { [`${PREFIX}/revision-history`]: history }),
  })
  add(cluster, '1', 3, { annotations: revisions('4') })
  add(cluster, '2', 0, { annotations: revisions('3', '1') })
  await settle()
  expect(cluster.get('replicasets', 'shop/2')).toMatchObject({
    metadata: { annotations: { ...revisions('5', '1,3'), note: 'x' } },
  })
  expect(cluster.get('deployments', KEY)).toMatchObject({
    metadata: { annotations: { [`${PREFIX}/revision`]: '5' } },
  })
})

test('a long history loses its oldest revisions', async () => {
  const { cluster, settle } = scene()
  const long = Array.from({ length: 500 }, (_, serial) => String(1_000 + serial)).join()
  add(cluster, '1', 3, { annotations: { [`${PREFIX}/revision`]: '9999' } })
  add(cluster, '2', 0, {
    annotations: { [`${PREFIX}/revision`]: '9998', [`${PREFIX}/revision-history`]: long },
  })
  await settle()
  const annotations = objectAt(cluster.get('replicasets', 'shop/2'), 'metadata', 'annotations')
  const history = stringAt(annotations, `${PREFIX}/revision-history`)
  expect(history).toMatch(/^1101,.*,1499,9998$/)
})

test('where another ReplicaSet has the name, collisionCount makes another one', async () => {
  const { cluster, settle, status, sizes } = scene()
  const taken = `web-${templateHash(template('2'), 0)}`
  cluster.put('replicasets', { metadata: { name: taken, namespace: 'shop' }, spec: {} })
  await settle()
  expect(status()).toMatchObject({ collisionCount: 1 })
  expect(sizes()).toMatchObject({ [`web-${templateHash(template('2'), 1)}`]: 3 })
})

test('ReplicaSets that it selects are adopted, those that it no longer selects are released', async () => {
  const { cluster, run } = scene()
  add(cluster, '2', 3, { parts: { metadata: { ownerReferences: null } } })
  add(cluster, '1', 0, { parts: { metadata: { labels: { app: 'other' } } } })
  expect((await run()).toSorted()).toEqual(['patch replicasets/shop/1', 'patch replicasets/shop/2'])
  const owners = (name: string) =>
    arrayAt(cluster.get('replicasets', `shop/${name}`), 'metadata', 'ownerReferences')
  expect([owners('1'), owners('2')]).toEqual([[], [OWNER]])
})

test('a Deployment that is being deleted releases no ReplicaSet', async () => {
  const { cluster, settle } = scene({ metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } })
  add(cluster, '1', 0, { parts: { metadata: { labels: { app: 'other' } } } })
  await settle()
  expect(arrayAt(cluster.get('replicasets', 'shop/1'), 'metadata', 'ownerReferences')).toEqual([
    OWNER,
  ])
})

test('a refused ReplicaSet is reported, and made later', async () => {
  const { cluster, condition, sizes } = scene()
  cluster.intercept = async (write) =>
    write.verb === 'create' ? refusal(403, 'exceeded quota') : undefined
  const clock = await runControllers(cluster, [deploymentController])
  await clock.advance(100)
  const name = `web-${templateHash(template('2'), 0)}`
  expect(condition('Progressing')).toMatchObject({
    status: 'False',
    reason: 'ReplicaSetCreateError',
    message: `Failed to create new replica set "${name}": exceeded quota`,
  })
  const events = cluster.log.filter((one) => one.startsWith('record'))
  expect(events).toEqual(['record ReplicaSetCreateError shop/web'])
  cluster.intercept = async () => undefined
  await clock.advance(60_000)
  expect(sizes()).toEqual({ [name]: 3 })
})

test('the failure of a ReplicaSet is the failure of its Deployment, until it is over', async () => {
  const { cluster, settle, condition } = scene()
  const failure = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: 'FailedCreate',
    message: 'exceeded quota',
    lastTransitionTime: '2029-12-31T00:00:00Z',
  }
  add(cluster, '2', 3, { parts: { status: { conditions: [failure] } } })
  await settle()
  const lastUpdateTime = failure.lastTransitionTime
  expect(condition('ReplicaFailure')).toEqual({ ...failure, lastUpdateTime })
  add(cluster, '2', 3)
  await settle()
  expect(condition('ReplicaFailure')).toEqual({})
})

test('a Deployment that is being deleted changes nothing but its status', async () => {
  const { cluster, run, sizes } = scene({
    metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' },
    spec: { replicas: 7 },
  })
  add(cluster, '1', 3)
  expect(await run()).toEqual(['patch deployments/shop/web'])
  expect(await run()).toEqual([])
  expect(sizes()).toEqual({ 1: 3 })
})

test('templates are the same whatever their hash, the order of their keys and fields without a value', () => {
  const reordered = { spec: objectAt(template('2'), 'spec'), ...template('2') }
  const empty = mergePatch(template('2'), { spec: { tolerations: [] } }) as JsonObject
  const known = { ...empty, metadata: { ...objectAt(empty, 'metadata'), creationTimestamp: null } }
  for (const other of [template('2', { 'pod-template-hash': 'x' }), reordered, known]) {
    expect(isSameTemplate(template('2'), other)).toBe(true)
    expect(templateHash(other, 0)).toBe(templateHash(template('2'), 0))
  }
  expect(isSameTemplate(template('2'), template('3'))).toBe(false)
  expect(templateHash(template('3'), 0)).not.toBe(templateHash(template('2'), 0))
  expect(templateHash(template('2'), 1)).not.toBe(templateHash(template('2'), 0))
})

test('changes of Pods and ReplicaSets concern their Deployment', () => {
  const { cluster } = scene()
  add(cluster, '2', 1)
  const { view } = cluster
  const [pod, set] = [view.pods.get('shop/2-0')!, view.replicasets.get('shop/2')!]
  const ofPod = (before: typeof pod | undefined, after: typeof pod | undefined) => [
    ...deploymentController.watches.pods!({ key: 'shop/2-0', before, after }, view),
  ]
  const ofSet = (after: typeof set) => [
    ...deploymentController.watches.replicasets!({ key: 'shop/2', before: undefined, after }, view),
  ]
  expect(ofPod(undefined, pod)).toEqual([KEY])
  expect(ofPod(pod, undefined)).toEqual([KEY])
  expect(ofPod(pod, { ...pod, nodeName: 'n' })).toEqual([])
  expect(ofPod(pod, { ...pod, finished: true })).toEqual([KEY])
  expect(ofSet(set)).toEqual([KEY])
  expect(ofSet({ ...set, meta: { ...set.meta, owners: [] } })).toEqual([KEY])
  expect(ofSet({ ...set, meta: { ...set.meta, owners: [], labels: {} } })).toEqual([])
})
