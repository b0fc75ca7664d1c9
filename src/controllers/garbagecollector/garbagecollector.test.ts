import { expect, test } from 'vitest'
import { catalogue } from '../../apiserver/kinds/catalogue.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { FakeClock } from '../../lib/testing/fake-clock.ts'
import { COLLECTION_ROUTES } from '../cache/collection-route.ts'
import { readMeta } from '../objects/object-meta.ts'
import { clusterWith, type Stored } from '../testing/cluster-with.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import { named } from '../testing/fixtures.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { garbageCollector } from './garbagecollector-controller.ts'

const DELETED = '2026-01-01T00:00:00Z'
const CONFIG = 'delete configmaps/shop/child'

function owner(name: string, more: JsonObject = {}): JsonObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: name, ...more }
}

function child(...ownerReferences: JsonObject[]): JsonObject {
  return named('child', { ownerReferences })
}

async function settled(...objects: readonly Stored[]): Promise<[FakeCluster, FakeClock]> {
  const cluster = clusterWith(...objects)
  const clock = await runControllers(cluster, [garbageCollector])
  return [cluster, clock]
}

const here: Stored = ['deployments', named('here')]
const leaving: Stored = [
  'deployments',
  named('here', { deletionTimestamp: DELETED, finalizers: ['foregroundDeletion', 'x'] }),
]
const FOREIGN = { apiVersion: 'serving.knative.dev/v1', kind: 'Service' }
const CLUSTER_ROLE = { apiVersion: 'rbac.authorization.orch.io/v1', kind: 'ClusterRole' }

const matrix: readonly (readonly [string, readonly Stored[], readonly string[]])[] = [
  ['an owner that is there', [here, ['configmaps', child(owner('here'))]], []],
  ['no owner', [['configmaps', child()]], []],
  ['an owner that is gone', [['configmaps', child(owner('gone'))]], [CONFIG]],
  [
    'an owner that was made anew',
    [here, ['configmaps', child(owner('here', { uid: 'former' }))]],
    [CONFIG],
  ],
  ['one owner of two', [here, ['configmaps', child(owner('gone'), owner('here'))]], []],
  ['two owners that are gone', [['configmaps', child(owner('a'), owner('b'))]], [CONFIG]],
  ['an owner of a foreign kind', [['configmaps', child(owner('gone', FOREIGN))]], []],
  [
    'an owner of the cluster',
    [
      ['clusterroles', named('r', { namespace: '' })],
      ['configmaps', child(owner('r', CLUSTER_ROLE))],
    ],
    [],
  ],
  ['an owner gone from the cluster', [['configmaps', child(owner('r', CLUSTER_ROLE))]], [CONFIG]],
  [
    'an owner with a namespace, of an object without',
    [['nodes', named('child', { namespace: '', ownerReferences: [owner('gone')] })]],
    [],
  ],
  [
    'an owner in another namespace',
    [
      ['deployments', named('far', { namespace: 'far' })],
      ['configmaps', child(owner('far'))],
    ],
    [CONFIG, 'record OwnerRefInvalidNamespace shop/child'],
  ],
  [
    'an owner that leaves in the foreground',
    [leaving, ['configmaps', child(owner('here', { blockOwnerDeletion: true }))]],
    [CONFIG, 'patch deployments/shop/here'],
  ],
  ['an owner that waits for no dependent', [leaving], ['patch deployments/shop/here']],
  [
    'an owner that leaves for other reasons',
    [
      ['deployments', named('here', { deletionTimestamp: DELETED, finalizers: ['x'] })],
      ['configmaps', child(owner('here'))],
    ],
    [],
  ],
]

test.each(matrix)('an object with %s', async (_, objects, wanted) => {
  const [cluster, clock] = await settled(...objects)
  expect(cluster.log.toSorted()).toEqual(wanted.toSorted())
  cluster.relist()
  await clock.advance(0)
  expect(cluster.log).toHaveLength(wanted.length)
})

test('the deletion of an owner deletes its dependents, and theirs', async () => {
  const grandchild = named('grandchild', {
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'child', uid: 'child' }],
  })
  const [cluster, clock] = await settled(
    here,
    ['configmaps', child(owner('here'))],
    ['pods', grandchild],
  )
  expect(cluster.log).toEqual([])
  cluster.remove('deployments', 'shop/here')
  await clock.advance(0)
  expect(cluster.log).toEqual([CONFIG, 'delete pods/shop/grandchild'])
})

test('an owner that the caches do not know yet is not taken for gone', async () => {
  const [cluster, clock] = await settled()
  cluster.hold()
  cluster.put('deployments', named('here'))
  cluster.notify('configmaps', child(owner('here')))
  await clock.advance(0)
  expect(cluster.get('configmaps', 'shop/child')).toBeDefined()
  cluster.release()
  await clock.advance(60_000)
  expect(cluster.get('configmaps', 'shop/child')).toBeDefined()
})

test('a foreground deletion waits for those that block it', async () => {
  const stuck = { deletionTimestamp: DELETED, finalizers: ['x'] }
  const blocking = owner('here', { blockOwnerDeletion: true })
  const [cluster, clock] = await settled(leaving, [
    'configmaps',
    named('child', { ...stuck, ownerReferences: [blocking] }),
  ])
  expect(cluster.log).toEqual([])
  cluster.remove('configmaps', 'shop/child')
  await clock.advance(0)
  expect(readMeta(cluster.get('deployments', 'shop/here')!).finalizers).toEqual(['x'])
})

test('the references to an owner with the finalizer orphan are removed before it is deleted, and others stay', async () => {
  const orphaning = named('here', { deletionTimestamp: DELETED, finalizers: ['orphan'] })
  const [cluster] = await settled(
    ['deployments', orphaning],
    ['deployments', named('other')],
    ['configmaps', child(owner('here'), owner('other', { controller: true }))],
  )
  expect(cluster.log).toEqual(['patch configmaps/shop/child', 'patch deployments/shop/here'])
  const { owners } = readMeta(cluster.get('configmaps', 'shop/child')!)
  expect(owners.map(({ reference }) => reference)).toEqual([owner('other', { controller: true })])
  expect(readMeta(cluster.get('deployments', 'shop/here')!).finalizers).toEqual([])
})

test('of Secrets and the like only metadata is kept, without labels and annotations', async () => {
  const cluster = createFakeCluster()
  cluster.put('secrets', { ...named('s', { annotations: { a: 'b' } }), data: { password: 'eA==' } })
  expect(JSON.stringify(cluster.view.secrets.get('shop/s'))).not.toMatch(/password|eA==|"b"/)
})

test('the garbage collector watches every kind that clients write, except Events', () => {
  const known = Object.entries(COLLECTION_ROUTES).map(([plural, route]) => ({ plural, ...route }))
  const served = catalogue.flatMap(({ plural, kind, namespaced, versions, isReadOnly }) => {
    const [{ group, version } = { group: '', version: '' }] = versions
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    return plural === 'events' || isReadOnly ? [] : [{ plural, root, kind, namespaced }]
  })
  const byName = (a: { plural: string }, b: { plural: string }): number =>
    a.plural < b.plural ? -1 : 1
  expect(known.toSorted(byName)).toEqual(served.toSorted(byName))
})
