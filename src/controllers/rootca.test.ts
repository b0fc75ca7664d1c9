import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { createRootCaController } from './rootca-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import type { FakeCluster } from './testing/fake-cluster.ts'
import { named } from './testing/fixtures.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

const SHOP = { metadata: { name: 'shop', uid: 'ns' } }
const ENDING = { metadata: { ...SHOP.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const NAME = 'kube-root-ca.crt'
const KEY = `shop/${NAME}`
const controller = createRootCaController('the CA')

function withMap(parts: JsonObject, metadata: JsonObject = {}): FakeCluster {
  return clusterWith(['namespaces', SHOP], ['configmaps', { ...named(NAME, metadata), ...parts }])
}

function look(cluster: FakeCluster): Promise<readonly string[]> {
  return reconcile(cluster, { controller, key: 'shop' })
}

function data(cluster: FakeCluster): unknown {
  return cluster.get('configmaps', KEY)?.['data']
}

test('a namespace gets the certificates, once', async () => {
  const cluster = clusterWith(['namespaces', SHOP])
  expect(await look(cluster)).toEqual([`create configmaps/${KEY}`])
  expect(data(cluster)).toEqual({ 'ca.crt': 'the CA' })
  expect(await look(cluster)).toEqual([])
})

test.each<[string, JsonObject]>([
  ['others', { data: { 'ca.crt': 'mine' } }],
  ['none', {}],
  ['more', { data: { 'ca.crt': 'the CA', 'other.crt': 'mine' } }],
])('a ConfigMap with %s is repaired', async (_, parts) => {
  const cluster = withMap(parts)
  expect(await look(cluster)).toEqual([`patch configmaps/${KEY}`])
  expect(data(cluster)).toEqual({ 'ca.crt': 'the CA' })
  expect(await look(cluster)).toEqual([])
})

test('one that was made immutable with other data is deleted, and then created again', async () => {
  const cluster = withMap({ data: { 'ca.crt': 'mine' }, immutable: true })
  expect(await look(cluster)).toEqual([`delete configmaps/${KEY}`])
  expect(await look(cluster)).toEqual([`create configmaps/${KEY}`])
  expect(await look(withMap({ data: { 'ca.crt': 'the CA' }, immutable: true }))).toEqual([])
  const held = { finalizers: ['x'], deletionTimestamp: '2026-01-01T00:00:00Z' }
  expect(await look(withMap({ immutable: true }, held))).toEqual([])
})

test('nothing is written to a namespace that is being deleted', async () => {
  expect(await look(clusterWith(['namespaces', ENDING]))).toEqual([])
  const known = withMap({ data: {} })
  known.put('namespaces', ENDING)
  expect(await look(known)).toEqual([])
})

test('the ConfigMap is repaired at once, and others stay', async () => {
  const cluster = clusterWith(['namespaces', SHOP])
  const clock = await runControllers(cluster, [controller])
  cluster.remove('configmaps', KEY)
  await clock.advance(0)
  expect(data(cluster)).toEqual({ 'ca.crt': 'the CA' })
  cluster.put('configmaps', { ...named(NAME), data: { 'ca.crt': 'mine' } })
  cluster.put('configmaps', { ...named('mine'), data: { 'ca.crt': 'mine' } })
  await clock.advance(0)
  expect(data(cluster)).toEqual({ 'ca.crt': 'the CA' })
  const after = cluster.view.configmaps.get('shop/mine')
  const change = { key: 'shop/mine', before: undefined, after }
  expect(controller.watches.configmaps?.(change, cluster.view)).toEqual([])
  expect(cluster.log).toEqual([
    `create configmaps/${KEY}`,
    `create configmaps/${KEY}`,
    `patch configmaps/${KEY}`,
  ])
})

test('without certificates nothing is watched or written', async () => {
  const cluster = clusterWith(['namespaces', SHOP])
  const without = createRootCaController(undefined)
  expect(without.watches).toEqual({})
  expect(await reconcile(cluster, { controller: without, key: 'shop' })).toEqual([])
})
