import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt } from '../lib/json.ts'
import { namespaceLifecycleController } from './namespacelifecycle-controller.ts'
import { clusterWith, type Stored } from './testing/cluster-with.ts'
import type { FakeCluster } from './testing/fake-cluster.ts'
import { named, rawPod } from './testing/fixtures.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const FINALIZED = 'patch namespaces/shop'

function shop(metadata: JsonObject = DELETED, finalizers = ['kubernetes']): JsonObject {
  return { metadata: { name: 'shop', uid: 'ns', ...metadata }, spec: { finalizers } }
}

function withObjects(namespace: JsonObject, ...objects: readonly Stored[]): FakeCluster {
  return clusterWith(['namespaces', namespace], ...objects)
}

function look(cluster: FakeCluster, now = 0): Promise<readonly string[]> {
  return reconcile(cluster, { controller: namespaceLifecycleController, key: 'shop', now })
}

const alone: readonly (readonly [string, JsonObject])[] = [
  ['lives', shop({})],
  ['waits for other finalizers', shop(DELETED, ['example.com/mine'])],
]

test.each(alone)('a namespace that %s is left alone', async (_, namespace) => {
  const cluster = withObjects(namespace, ['services', named('web')])
  expect(await look(cluster)).toEqual([])
})

test('an empty namespace loses the finalizer kubernetes, and other finalizers stay', async () => {
  const cluster = withObjects(shop(DELETED, ['kubernetes', 'example.com/mine']))
  expect(await look(cluster)).toEqual([FINALIZED])
  expect(arrayAt(cluster.get('namespaces', 'shop'), 'spec', 'finalizers')).toEqual([
    'example.com/mine',
  ])
})

test('Pods are deleted before all other contents, which wait until the Pods are gone', async () => {
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

test('while the server has a Pod that the caches do not have, other contents stay', async () => {
  const cluster = withObjects(shop(), ['networkpolicies', named('deny')])
  cluster.hold()
  cluster.put('pods', rawPod(1))
  await expect(look(cluster)).rejects.toThrow('still there')
  expect(cluster.get('networkpolicies', 'shop/deny')).toBeDefined()
})

test('the contents of a new namespace of that name stay while the caches still have the old one', async () => {
  const cluster = withObjects(shop())
  cluster.hold()
  cluster.put('namespaces', shop({ uid: 'new' }))
  for (const collection of ['configmaps', 'pods'] as const) {
    cluster.notify(collection, named('mine'))
    await expect(look(cluster)).rejects.toThrow('not there')
    expect(cluster.get(collection, 'shop/mine')).toBeDefined()
  }
})

test('the conditions report what the namespace waits for, and are written once', async () => {
  const cluster = withObjects(
    shop(),
    ['services', named('a', { finalizers: ['x', 'y'] })],
    ['services', named('b', { finalizers: ['x'] })],
    ['configmaps', named('c')],
    ['deployments', named('d', { finalizers: ['x'] })],
  )
  await look(cluster)
  expect(cluster.all('configmaps')).toEqual([])
  expect(await look(cluster, Date.parse('2026-01-02T00:00:00Z'))).toEqual([FINALIZED])
  const messages = (): readonly string[] =>
    arrayAt(cluster.get('namespaces', 'shop'), 'status', 'conditions').map((one) =>
      ['type', 'status', 'message', 'lastTransitionTime']
        .map((key) => stringAt(one, key))
        .join('|'),
    )
  const since = '2026-01-02T00:00:00Z'
  expect(messages()).toEqual([
    `NamespaceDeletionDiscoveryFailure|False|All resources successfully discovered|${since}`,
    `NamespaceDeletionContentFailure|False|All content successfully deleted, may be waiting on finalization|${since}`,
    `NamespaceContentRemaining|True|Some resources are remaining: services. has 2 resource instances, deployments.apps has 1 resource instances|${since}`,
    `NamespaceFinalizersRemaining|True|Some content in the namespace has finalizers remaining: x in 3 resource instances, y in 1 resource instances|${since}`,
  ])
  expect(await look(cluster)).toEqual([])
  cluster.put('services', named('a', { ...DELETED, finalizers: ['x'] }))
  cluster.remove('services', 'shop/b')
  cluster.remove('deployments', 'shop/d')
  await look(cluster, Date.parse('2026-01-03T00:00:00Z'))
  expect(messages().slice(2)).toEqual([
    `NamespaceContentRemaining|True|Some resources are remaining: services. has 1 resource instances|${since}`,
    `NamespaceFinalizersRemaining|True|Some content in the namespace has finalizers remaining: x in 1 resource instances|${since}`,
  ])
})

test('the namespace is deleted with the last of its contents', async () => {
  const cluster = withObjects(shop(), ['pods', rawPod(1)], ['secrets', named('s')])
  const clock = await runControllers(cluster, [namespaceLifecycleController])
  expect(cluster.all('secrets')).toHaveLength(1)
  cluster.remove('pods', 'shop/web-1')
  await clock.advance(0)
  expect([cluster.all('secrets'), cluster.all('namespaces')]).toEqual([[], []])
})

test('contents that changed meanwhile are deleted at any version', async () => {
  const cluster = withObjects(shop(), ['secrets', named('s')])
  cluster.hold()
  cluster.put('secrets', named('s', { labels: { changed: 'yes' } }))
  expect(await look(cluster)).toEqual(['delete secrets/shop/s'])
  expect(cluster.all('secrets')).toEqual([])
})
