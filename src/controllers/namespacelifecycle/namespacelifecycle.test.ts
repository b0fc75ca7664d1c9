import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import type { CollectionName } from '../cache/collections.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import { rawPod } from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { namespaceLifecycleController } from './namespacelifecycle-controller.ts'

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const FINALIZED = 'patch namespaces/shop'

function shop(metadata: JsonObject = DELETED, finalizers = ['kubernetes']): JsonObject {
  return { metadata: { name: 'shop', uid: 'ns', ...metadata }, spec: { finalizers } }
}

function named(name: string, metadata: JsonObject = {}): JsonObject {
  return { metadata: { name, namespace: 'shop', uid: name, ...metadata } }
}

function withObjects(
  namespace: JsonObject,
  ...objects: readonly (readonly [CollectionName, JsonObject])[]
): FakeCluster {
  const cluster = createFakeCluster()
  cluster.put('namespaces', namespace)
  for (const [collection, object] of objects) cluster.put(collection, object)
  return cluster
}

function look(cluster: FakeCluster, now = 0): Promise<readonly string[]> {
  return reconcile(cluster, { controller: namespaceLifecycleController, key: 'shop', now })
}

const alone: readonly (readonly [string, JsonObject])[] = [
  ['lives', shop({})],
  ['waits for others', shop(DELETED, ['example.com/mine'])],
]

test.each(alone)('a namespace that %s is left alone', async (_, namespace) => {
  const cluster = withObjects(namespace, ['services', named('web')])
  expect(await look(cluster)).toEqual([])
})

test('an empty one goes, other finalizers stay', async () => {
  const cluster = withObjects(shop(DELETED, ['kubernetes', 'example.com/mine']))
  expect(await look(cluster)).toEqual([FINALIZED])
  expect(arrayAt(cluster.get('namespaces', 'shop'), 'spec', 'finalizers')).toEqual([
    'example.com/mine',
  ])
})

test('pods go before what limits them, and are waited for', async () => {
  const cluster = withObjects(
    shop(),
    ['networkpolicies', named('deny')],
    ['pods', rawPod(1)],
    ['services', named('web', { namespace: 'other' })],
  )
  expect(await look(cluster)).toEqual(['delete pods/shop/web-1'])
  expect(await look(cluster)).toEqual([FINALIZED])
  expect(await look(cluster)).toEqual([])
  cluster.remove('pods', 'shop/web-1')
  expect(await look(cluster)).toEqual(['delete networkpolicies/shop/deny'])
  expect(await look(cluster)).toEqual([FINALIZED])
  expect(cluster.get('services', 'other/web')).toBeDefined()
})

test('a pod that the caches do not know yet still goes before all else', async () => {
  const cluster = withObjects(shop(), ['networkpolicies', named('deny')])
  cluster.hold()
  cluster.put('pods', rawPod(1))
  await expect(look(cluster)).rejects.toThrow('still there')
  expect(cluster.get('networkpolicies', 'shop/deny')).toBeDefined()
})

test('what is in a new namespace of that name stays, though the caches still show the old one', async () => {
  const cluster = withObjects(shop())
  cluster.hold()
  cluster.put('namespaces', shop({ uid: 'new' }))
  for (const collection of ['configmaps', 'pods'] as const) {
    cluster.tell(collection, named('mine'))
    await expect(look(cluster)).rejects.toThrow('not there')
    expect(cluster.get(collection, 'shop/mine')).toBeDefined()
  }
})

test('it says what it waits for, and says so once', async () => {
  const cluster = withObjects(
    shop(),
    ['services', named('a', { finalizers: ['x', 'y'] })],
    ['services', named('b', { finalizers: ['x'] })],
    ['configmaps', named('c')],
  )
  await look(cluster)
  expect(cluster.all('configmaps')).toEqual([])
  expect(await look(cluster, Date.parse('2026-01-02T00:00:00Z'))).toEqual([FINALIZED])
  const said = (): readonly string[] =>
    arrayAt(cluster.get('namespaces', 'shop'), 'status', 'conditions').map((one) =>
      ['type', 'status', 'message', 'lastTransitionTime']
        .map((key) => stringAt(one, key))
        .join('|'),
    )
  const since = '2026-01-02T00:00:00Z'
  expect(said()).toEqual([
    `NamespaceDeletionDiscoveryFailure|False|All resources successfully discovered|${since}`,
    `NamespaceDeletionContentFailure|False|All content successfully deleted, may be waiting on finalization|${since}`,
    `NamespaceContentRemaining|True|Some resources are remaining: services. has 2 resource instances|${since}`,
    `NamespaceFinalizersRemaining|True|Some content in the namespace has finalizers remaining: x in 2 resource instances, y in 1 resource instances|${since}`,
  ])
  expect(await look(cluster)).toEqual([])
  cluster.put('services', named('a', { ...DELETED, finalizers: ['x'] }))
  cluster.remove('services', 'shop/b')
  await look(cluster, Date.parse('2026-01-03T00:00:00Z'))
  expect(said().slice(2)).toEqual([
    `NamespaceContentRemaining|True|Some resources are remaining: services. has 1 resource instances|${since}`,
    `NamespaceFinalizersRemaining|True|Some content in the namespace has finalizers remaining: x in 1 resource instances|${since}`,
  ])
})

test('it goes with the last of its contents', async () => {
  const cluster = withObjects(shop(), ['pods', rawPod(1)], ['secrets', named('s')])
  const clock = await runControllers(cluster, [namespaceLifecycleController])
  expect(cluster.all('secrets')).toHaveLength(1)
  cluster.remove('pods', 'shop/web-1')
  await clock.advance(0)
  expect([cluster.all('secrets'), cluster.all('namespaces')]).toEqual([[], []])
})

test('contents that changed meanwhile go all the same', async () => {
  const cluster = withObjects(shop(), ['secrets', named('s')])
  cluster.hold()
  cluster.put('secrets', named('s', { labels: { changed: 'yes' } }))
  expect(await look(cluster)).toEqual(['delete secrets/shop/s'])
  expect(cluster.all('secrets')).toEqual([])
})
