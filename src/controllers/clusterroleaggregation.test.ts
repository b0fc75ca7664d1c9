import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../lib/json.ts'
import { clusterRoleAggregationController as controller } from './clusterroleaggregation-controller.ts'
import { all, clusterWith } from './testing/cluster-with.ts'
import type { FakeCluster } from './testing/fake-cluster.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

function rule(resource: string): JsonObject {
  return { verbs: ['get'], apiGroups: [''], resources: [resource] }
}

function source(name: string, resources: readonly string[], labels: JsonObject): JsonObject {
  return { metadata: { name, uid: name, labels }, rules: resources.map(rule) }
}

function aggregated(name: string, selectors: Json[], labels: JsonObject = {}): JsonObject {
  const aggregationRule = { clusterRoleSelectors: selectors }
  return { metadata: { name, uid: name, labels }, aggregationRule, rules: [] }
}

function to(...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [`to-${name}`, 'true']))
}

function selector(name: string): JsonObject {
  return { matchLabels: { [`to-${name}`]: 'true' } }
}

function look(cluster: FakeCluster, key = 'admin'): Promise<readonly string[]> {
  return reconcile(cluster, { controller, key })
}

function rules(cluster: FakeCluster, name = 'admin'): unknown {
  return cluster.get('clusterroles', name)?.['rules']
}

test('a ClusterRole has the rules of those that it selects, in the order of their names, each once', async () => {
  const cluster = clusterWith(
    ['clusterroles', source('b', ['secrets', 'pods'], to('admin'))],
    ['clusterroles', source('a', ['pods'], to('admin'))],
    ['clusterroles', source('other', ['nodes'], to('view'))],
    ['clusterroles', aggregated('admin', [selector('admin')])],
  )
  expect(await look(cluster)).toEqual(['patch clusterroles/admin'])
  expect(rules(cluster)).toEqual([rule('pods'), rule('secrets')])
  expect(await look(cluster)).toEqual([])
})

const selectors: readonly (readonly [Json[], readonly string[]])[] = [
  [[], []],
  [[{}], ['nodes', 'pods']],
  [[{ matchLabels: { tier: 'x' } }], []],
  [
    [{ matchLabels: { tier: 'a' } }, { matchLabels: { tier: 'b' } }],
    ['nodes', 'pods'],
  ],
  [[{ matchExpressions: [{ key: 'tier', operator: 'In', values: ['a'] }] }], ['nodes']],
  [[{ matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['a'] }] }], ['pods']],
  [[{ matchLabels: { tier: 'a' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] }], []],
]

test.each(selectors)('the selectors %j select %j', async (given, resources) => {
  const cluster = clusterWith(
    ['clusterroles', source('a', ['nodes'], { tier: 'a' })],
    ['clusterroles', source('b', ['pods'], { tier: 'b' })],
    ['clusterroles', aggregated('admin', given)],
  )
  await look(cluster)
  expect(rules(cluster)).toEqual(resources.map(rule))
})

test('rules written by hand are replaced', async () => {
  const cluster = clusterWith([
    'clusterroles',
    { ...aggregated('admin', [selector('admin')]), rules: [rule('secrets')] },
  ])
  expect(await look(cluster)).toEqual(['patch clusterroles/admin'])
  expect(rules(cluster)).toEqual([])
})

const kept: readonly (readonly [string, JsonObject])[] = [
  ['selects nothing of its own', { ...source('admin', ['pods'], to('admin')) }],
  ['has null in place of selectors', { ...source('admin', ['pods'], {}), aggregationRule: null }],
  [
    'is being deleted',
    {
      ...aggregated('admin', [selector('admin')]),
      metadata: { name: 'admin', uid: 'admin', deletionTimestamp: '2026-01-01T00:00:00Z' },
    },
  ],
]

test.each(kept)('a ClusterRole that %s stays', async (_, role) => {
  const other = source('a', ['nodes'], to('admin'))
  expect(await look(clusterWith(['clusterroles', role], ['clusterroles', other]))).toEqual([])
})

test('a rule that its source gives up is given up by roles that select each other', async () => {
  const cluster = clusterWith(
    ['clusterroles', aggregated('admin', [selector('admin')], to('edit'))],
    ['clusterroles', aggregated('edit', [selector('edit')], to('admin'))],
    ['clusterroles', source('a', ['secrets'], to('edit'))],
  )
  const clock = await runControllers(cluster, [controller])
  expect([rules(cluster), rules(cluster, 'edit')]).toEqual([[rule('secrets')], [rule('secrets')]])
  cluster.put('clusterroles', source('a', [], to('edit')))
  await clock.advance(0)
  expect([rules(cluster), rules(cluster, 'edit')]).toEqual([[], []])
  cluster.put('clusterroles', source('b', ['pods'], to('admin')))
  await clock.advance(0)
  expect([rules(cluster), rules(cluster, 'edit')]).toEqual([[rule('pods')], [rule('pods')]])
  cluster.remove('clusterroles', 'b')
  await clock.advance(0)
  expect([rules(cluster), rules(cluster, 'edit')]).toEqual([[], []])
})

const NAMES = ['a', 'b', 'c', 'd']
const someNames = fc.subarray(NAMES)

interface Drawn {
  readonly isAggregated: boolean
  readonly partOf: readonly string[]
  readonly resources: readonly string[]
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  isAggregated: fc.boolean(),
  partOf: someNames,
  resources: someNames,
})
const change = fc.record({
  name: fc.constantFrom(...NAMES),
  role: fc.option(drawn, { nil: undefined }),
})

function roleOf(name: string, { isAggregated, partOf, resources }: Drawn): JsonObject {
  const labels = to(...partOf)
  return isAggregated ? aggregated(name, [selector(name)], labels) : source(name, resources, labels)
}

test('the rules depend on the present ClusterRoles and not on their history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
      const cluster = clusterWith()
      const clock = await runControllers(cluster, [controller])
      const last = new Map<string, JsonObject>()
      for (const { name, role } of changes) {
        if (role === undefined) {
          cluster.remove('clusterroles', name)
          last.delete(name)
        } else {
          cluster.put('clusterroles', roleOf(name, role))
          last.set(name, roleOf(name, role))
        }
        await clock.advance(0)
      }
      const fresh = clusterWith(...all('clusterroles', [...last.values()]))
      await runControllers(fresh, [controller])
      for (const name of NAMES) {
        expect(rules(cluster, name)).toEqual(rules(fresh, name))
        expect(await look(cluster, name)).toEqual([])
      }
    }),
    { numRuns: 50 },
  )
})
