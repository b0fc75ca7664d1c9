import { expect, test } from 'vitest'
import { storedResources } from '../apiserver/kinds/catalogue.ts'
import type { JsonObject } from '../lib/json.ts'
import type { FakeClock } from '../lib/testing/fake-clock.ts'
import { COLLECTION_ROUTES } from './cache/collection-route.ts'
import { garbageCollector } from './garbagecollector-controller.ts'
import { readMeta } from './objects/object-meta.ts'
import { clusterWith, type Stored } from './testing/cluster-with.ts'
import { createFakeCluster, type FakeCluster } from './testing/fake-cluster.ts'
import { named } from './testing/fixtures.ts'
import { runControllers } from './testing/run-controllers.ts'

const DELETED = '2026-01-01T00:00:00Z'
const CHILD_DELETED = 'delete configmaps/shop/child'

function owner(name: string, more: JsonObject = {}): JsonObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: name, ...more }
}

function child(...ownerReferences: JsonObject[]): JsonObject {
  return named('child', { ownerReferences })
}

/** Runs the garbage collector on these objects until it has nothing more to do. */
async function collectGarbage(...objects: readonly Stored[]): Promise<[FakeCluster, FakeClock]> {
  const cluster = clusterWith(...objects)
  const clock = await runControllers(cluster, [garbageCollector])
  return [cluster, clock]
}

const here: Stored = ['deployments', named('here')]
const foregroundOwner: Stored = [
  'deployments',
  named('here', { deletionTimestamp: DELETED, finalizers: ['foregroundDeletion', 'x'] }),
]
const FOREIGN = { apiVersion: 'serving.knative.dev/v1', kind: 'Service' }
const CLUSTER_ROLE = { apiVersion: 'rbac.authorization.orch.io/v1', kind: 'ClusterRole' }

/** What happens to the object `child`, the objects at the start, and the writes. */
const cases: readonly (readonly [string, readonly Stored[], readonly string[]])[] = [
  ['stays while its owner is there', [here, ['configmaps', child(owner('here'))]], []],
  ['stays that has no owner', [['configmaps', child()]], []],
  ['is deleted when its owner is gone', [['configmaps', child(owner('gone'))]], [CHILD_DELETED]],
  [
    'is deleted when an object with another uid has the name of its owner',
    [here, ['configmaps', child(owner('here', { uid: 'former' }))]],
    [CHILD_DELETED],
  ],
  [
    'stays while one of two owners is there, and loses the reference to the other one',
    [here, ['configmaps', child(owner('gone'), owner('here'))]],
    ['patch configmaps/shop/child'],
  ],
  [
    'keeps the reference to an owner that is gone beside one of a kind that the server does not have',
    [here, ['configmaps', child(owner('gone'), owner('here'), owner('other', FOREIGN))]],
    [],
  ],
  [
    'loses the reference to an owner in another namespace, with an Event, while another owner is there',
    [
      here,
      ['deployments', named('far', { namespace: 'far' })],
      ['configmaps', child(owner('here'), owner('far'))],
    ],
    ['patch configmaps/shop/child', 'record OwnerRefInvalidNamespace shop/child'],
  ],
  [
    'is deleted when both owners are gone',
    [['configmaps', child(owner('a'), owner('b'))]],
    [CHILD_DELETED],
  ],
  [
    'stays whose owner is of a kind that the server does not have',
    [['configmaps', child(owner('gone', FOREIGN))]],
    [],
  ],
  [
    'stays while its cluster-scoped owner is there',
    [
      ['clusterroles', named('r', { namespace: '' })],
      ['configmaps', child(owner('r', CLUSTER_ROLE))],
    ],
    [],
  ],
  [
    'is deleted when its cluster-scoped owner is gone',
    [['configmaps', child(owner('r', CLUSTER_ROLE))]],
    [CHILD_DELETED],
  ],
  [
    'without a namespace stays whose owner is of a namespaced kind',
    [['nodes', named('child', { namespace: '', ownerReferences: [owner('gone')] })]],
    [],
  ],
  [
    'is deleted, with an Event, when its owner is in another namespace',
    [
      ['deployments', named('far', { namespace: 'far' })],
      ['configmaps', child(owner('far'))],
    ],
    [CHILD_DELETED, 'record OwnerRefInvalidNamespace shop/child'],
  ],
  [
    'is deleted before its owner, which is being deleted in the foreground',
    [foregroundOwner, ['configmaps', child(owner('here', { blockOwnerDeletion: true }))]],
    [CHILD_DELETED, 'patch deployments/shop/here'],
  ],
  [
    'stays that has another owner, and its owner does not wait for it any longer',
    [
      foregroundOwner,
      ['deployments', named('other')],
      ['configmaps', child(owner('here', { blockOwnerDeletion: true }), owner('other'))],
    ],
    ['patch configmaps/shop/child', 'patch deployments/shop/here'],
  ],
  [
    'without dependents loses the finalizer of its foreground deletion',
    [foregroundOwner],
    ['patch deployments/shop/here'],
  ],
  [
    'stays while its owner waits for another finalizer',
    [
      ['deployments', named('here', { deletionTimestamp: DELETED, finalizers: ['x'] })],
      ['configmaps', child(owner('here'))],
    ],
    [],
  ],
]

test.each(cases)(
  'an object %s, and a second reconcile writes nothing',
  async (_, objects, wanted) => {
    const [cluster, clock] = await collectGarbage(...objects)
    expect(cluster.log.toSorted()).toEqual(wanted.toSorted())
    cluster.relist()
    await clock.advance(0)
    expect(cluster.log).toHaveLength(wanted.length)
  },
)

test('the deletion of an owner deletes its dependents, and theirs', async () => {
  const grandchild = named('grandchild', {
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'child', uid: 'child' }],
  })
  const [cluster, clock] = await collectGarbage(
    here,
    ['configmaps', child(owner('here'))],
    ['pods', grandchild],
  )
  expect(cluster.log).toEqual([])
  cluster.remove('deployments', 'shop/here')
  await clock.advance(0)
  expect(cluster.log).toEqual([CHILD_DELETED, 'delete pods/shop/grandchild'])
})

test('an object stays while the server has its owner and the caches do not yet', async () => {
  const [cluster, clock] = await collectGarbage()
  cluster.hold()
  cluster.put('deployments', named('here'))
  cluster.notify('configmaps', child(owner('here')))
  await clock.advance(0)
  expect(cluster.get('configmaps', 'shop/child')).toBeDefined()
  cluster.release()
  await clock.advance(60_000)
  expect(cluster.get('configmaps', 'shop/child')).toBeDefined()
})

test('of several owners, the references to those that are there stay as they are', async () => {
  const kept = owner('here', { controller: true, blockOwnerDeletion: true })
  // The same uid with another name: only the second reference names an object that there is.
  const misnamed = owner('former', { uid: 'here' })
  const [cluster] = await collectGarbage(
    here,
    [
      'deployments',
      named('waits', { deletionTimestamp: DELETED, finalizers: ['foregroundDeletion', 'x'] }),
    ],
    ['configmaps', child(owner('gone'), misnamed, kept, owner('waits'))],
  )
  expect(
    readMeta(cluster.get('configmaps', 'shop/child')!).owners.map((one) => one.reference),
  ).toEqual([kept])
})

test('a reference stays beside a living owner while the server has its owner and the caches do not yet', async () => {
  const [cluster, clock] = await collectGarbage(here)
  cluster.hold()
  cluster.put('deployments', named('late'))
  cluster.notify('configmaps', child(owner('late'), owner('here')))
  await clock.advance(0)
  expect(cluster.log).toContain('patch configmaps/shop/child')
  cluster.release()
  await clock.advance(60_000)
  expect(readMeta(cluster.get('configmaps', 'shop/child')!).owners).toHaveLength(2)
})

test('an owner keeps its finalizer foregroundDeletion while a dependent with blockOwnerDeletion is there', async () => {
  const stuck = { deletionTimestamp: DELETED, finalizers: ['x'] }
  const blocking = owner('here', { blockOwnerDeletion: true })
  const [cluster, clock] = await collectGarbage(foregroundOwner, [
    'configmaps',
    named('child', { ...stuck, ownerReferences: [blocking] }),
  ])
  expect(cluster.log).toEqual([])
  cluster.remove('configmaps', 'shop/child')
  await clock.advance(0)
  expect(readMeta(cluster.get('deployments', 'shop/here')!).finalizers).toEqual(['x'])
})

const blockedBy = (name: string): JsonObject => owner(name, { blockOwnerDeletion: true })

test('an owner that is deleted in the foreground waits for the dependents of its dependents', async () => {
  const [cluster, clock] = await collectGarbage(
    foregroundOwner,
    ['deployments', named('child', { ownerReferences: [blockedBy('here')] })],
    [
      'configmaps',
      named('grandchild', { ownerReferences: [blockedBy('child')], finalizers: ['x'] }),
    ],
  )
  const left = (): readonly string[] =>
    cluster
      .all('deployments')
      .map((one) => `${readMeta(one).name} ${readMeta(one).finalizers.join()}`)
  expect(readMeta(cluster.get('configmaps', 'shop/grandchild')!).terminating).toBe(true)
  expect(left()).toEqual(['here foregroundDeletion,x', 'child foregroundDeletion'])
  cluster.remove('configmaps', 'shop/grandchild')
  await clock.advance(0)
  expect(left()).toEqual(['here x'])
})

test('owners of each other do not wait for each other for ever', async () => {
  const [cluster] = await collectGarbage(
    [
      'deployments',
      named('here', {
        deletionTimestamp: DELETED,
        finalizers: ['foregroundDeletion'],
        ownerReferences: [blockedBy('child')],
      }),
    ],
    ['deployments', named('child', { ownerReferences: [blockedBy('here')] })],
  )
  expect(cluster.all('deployments')).toEqual([])
})

test('references to an owner with the finalizer orphan are removed before it is deleted, and others stay', async () => {
  const orphaning = named('here', { deletionTimestamp: DELETED, finalizers: ['orphan'] })
  const [cluster] = await collectGarbage(
    ['deployments', orphaning],
    ['deployments', named('other')],
    ['configmaps', child(owner('here'), owner('other', { controller: true }))],
  )
  expect(cluster.log).toEqual(['patch configmaps/shop/child', 'patch deployments/shop/here'])
  const { owners } = readMeta(cluster.get('configmaps', 'shop/child')!)
  expect(owners.map(({ reference }) => reference)).toEqual([owner('other', { controller: true })])
  expect(readMeta(cluster.get('deployments', 'shop/here')!).finalizers).toEqual([])
})

test('the cache keeps only the metadata of a Secret, without labels and annotations', async () => {
  const cluster = createFakeCluster()
  cluster.put('secrets', { ...named('s', { annotations: { a: 'b' } }), data: { password: 'eA==' } })
  expect(JSON.stringify(cluster.view.secrets.get('shop/s'))).not.toMatch(/password|eA==|"b"/)
})

test('the garbage collector watches every kind that clients write, except Events', () => {
  const known = Object.entries(COLLECTION_ROUTES).map(([plural, route]) => ({ plural, ...route }))
  const served = storedResources.flatMap(({ plural, kind, namespaced, versions, isReadOnly }) => {
    const [{ group, version } = { group: '', version: '' }] = versions
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    return plural === 'events' || isReadOnly ? [] : [{ plural, root, kind, namespaced }]
  })
  const byName = (a: { plural: string }, b: { plural: string }): number =>
    a.plural < b.plural ? -1 : 1
  expect(known.toSorted(byName)).toEqual(served.toSorted(byName))
})
