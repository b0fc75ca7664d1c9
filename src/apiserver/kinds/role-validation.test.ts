import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

function places(kind: string, parts: Raw): readonly string[] {
  const metadata = { name: 'system:x', ...(kind === 'Role' ? { namespace: 'shop' } : {}) }
  return placesOf(validateObject(kind, applyDefaults(kind, { metadata, ...parts })))
}

const READ = { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get'] }
const URLS = { nonResourceURLs: ['/metrics', '/logs/*'], verbs: ['get'] }

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ rules: [READ, { ...READ, resourceNames: ['a'] }] }, []],
  [{ rules: [{ ...READ, verbs: [] }] }, ['rules[0].verbs []']],
  [{ rules: [{ verbs: ['get'] }] }, ['rules[0].apiGroups (absent)', 'rules[0].resources (absent)']],
  [{ rules: [{ ...READ, resources: [7] }] }, ['rules[0].resources[0] 7']],
  [{ rules: ['x'] }, ['rules[0] "x"']],
  [{ rules: {} }, ['rules {}']],
])('a role with %j: %j', (parts, expected) => {
  expect(places('Role', parts)).toEqual(expected)
  expect(places('ClusterRole', parts)).toEqual(expected)
})

test('only a ClusterRole is about URLs, and no rule about both', () => {
  expect(places('ClusterRole', { rules: [URLS] })).toEqual([])
  expect(places('Role', { rules: [URLS] })).toEqual([
    'rules[0].nonResourceURLs ["/metrics","/logs/*"]',
  ])
  expect(places('ClusterRole', { rules: [{ ...READ, ...URLS }] })).toEqual([
    'rules[0].apiGroups [""]',
    'rules[0].resources ["pods","pods/log"]',
  ])
})

test('an aggregated role selects others', () => {
  const aggregate = (clusterRoleSelectors: unknown): readonly string[] =>
    places('ClusterRole', { aggregationRule: { clusterRoleSelectors } })
  expect(aggregate([{ matchLabels: { a: 'b' } }])).toEqual([])
  expect(aggregate([])).toEqual(['aggregationRule.clusterRoleSelectors []'])
  expect(aggregate([{ matchLabels: { a: 7 } }])).toEqual([
    'aggregationRule.clusterRoleSelectors[0].matchLabels {"a":7}',
  ])
})

test.each(['', '.', '..', 'a/b', 'a%2fb', 'a\u0000', 'x'.repeat(254)])('%j is no name', (name) => {
  expect(places('Role', { metadata: { name, namespace: 'shop' } })).toHaveLength(1)
})
