import { expect, test } from 'vitest'
import { arrayAt, type Json, type JsonObject } from '../../../lib/json.ts'
import { applyDefaults } from '../testing/rules-by-kind.ts'

function toleration(state: string): JsonObject {
  const key = `node.kubernetes.io/${state}`
  return { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }
}

const BOTH = [toleration('not-ready'), toleration('unreachable')]
const OWN = { key: 'node.kubernetes.io/not-ready', operator: 'Exists' }
const OTHERS = [
  { key: 'dedicated', operator: 'Exists' },
  { ...OWN, effect: 'NoSchedule' },
]

test.each<[string, Json | undefined, readonly Json[]]>([
  ['nothing', undefined, BOTH],
  ['an empty list', [], BOTH],
  ['other taints and effects', OTHERS, [...OTHERS, ...BOTH]],
  ['one for ever', [OWN], [OWN, BOTH[1]!]],
  [
    'one for a second',
    [{ ...OWN, effect: 'NoExecute', tolerationSeconds: 1 }],
    [{ ...OWN, effect: 'NoExecute', tolerationSeconds: 1 }, BOTH[1]!],
  ],
  ['everything', [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
  [
    'everything that evicts',
    [{ operator: 'Exists', effect: 'NoExecute' }],
    [{ operator: 'Exists', effect: 'NoExecute' }],
  ],
])('a Pod that tolerates %s', (_, tolerations, expected) => {
  const spec = { containers: [], ...(tolerations !== undefined && { tolerations }) }
  const pod = applyDefaults('Pod', { spec })
  expect(arrayAt(pod as JsonObject, 'spec', 'tolerations')).toEqual(expected)
  expect(applyDefaults('Pod', pod)).toEqual(pod)
})

test('templates stay as they are', () => {
  const template = { spec: { containers: [] } }
  const set = applyDefaults('ReplicaSet', { spec: { template } }) as JsonObject
  expect(JSON.stringify(set)).not.toContain('tolerations')
})

test('what is no list is left to validation', () => {
  expect(applyDefaults('Pod', { spec: { tolerations: 7 } })).toMatchObject({
    spec: { tolerations: 7 },
  })
})
