import { expect, test } from 'vitest'
import { stringAt } from '../lib/json.ts'
import { serviceAccountsController } from './serviceaccounts-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import type { FakeCluster } from './testing/fake-cluster.ts'
import { named } from './testing/fixtures.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

const SHOP = { metadata: { name: 'shop', uid: 'ns' } }
const ENDING = { metadata: { ...SHOP.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const CREATED = 'create serviceaccounts/shop/default'

function look(cluster: FakeCluster): Promise<readonly string[]> {
  return reconcile(cluster, { controller: serviceAccountsController, key: 'shop' })
}

test('a namespace gets an account named default, whose token is mounted, once', async () => {
  const cluster = clusterWith(['namespaces', SHOP])
  expect(await look(cluster)).toEqual([CREATED])
  expect(cluster.get('serviceaccounts', 'shop/default')).toMatchObject({
    metadata: { name: 'default', namespace: 'shop' },
    automountServiceAccountToken: true,
  })
  expect(await look(cluster)).toEqual([])
})

const left: readonly (readonly [string, FakeCluster])[] = [
  ['is being deleted', clusterWith(['namespaces', ENDING])],
  ['is gone', clusterWith()],
  [
    'has an account that was changed',
    clusterWith(
      ['namespaces', SHOP],
      ['serviceaccounts', { ...named('default'), automountServiceAccountToken: false }],
    ),
  ],
]

test.each(left)('nothing is written when the namespace %s', async (_, cluster) => {
  expect(await look(cluster)).toEqual([])
})

test('the account is created again whenever it was deleted, until the namespace ends', async () => {
  const cluster = clusterWith(['namespaces', SHOP], ['serviceaccounts', named('builder')])
  const clock = await runControllers(cluster, [serviceAccountsController])
  const uid = () => stringAt(cluster.get('serviceaccounts', 'shop/default'), 'metadata', 'uid')
  const first = uid()
  cluster.remove('serviceaccounts', 'shop/default')
  cluster.remove('serviceaccounts', 'shop/builder')
  await clock.advance(0)
  expect(uid()).not.toBe(first)
  expect(cluster.log).toEqual([CREATED, CREATED])
  cluster.put('namespaces', ENDING)
  cluster.remove('serviceaccounts', 'shop/default')
  await clock.advance(0)
  expect(cluster.all('serviceaccounts')).toEqual([])
  cluster.put('namespaces', { metadata: { name: 'new' } })
  await clock.advance(0)
  expect(cluster.get('serviceaccounts', 'new/default')).toBeDefined()
})
