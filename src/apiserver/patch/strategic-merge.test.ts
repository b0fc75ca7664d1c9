import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { strategicMerge } from './strategic-merge.ts'

const pod: JsonObject = {
  metadata: { finalizers: ['a', 'b'], labels: { x: '1' } },
  spec: {
    containers: [
      { name: 'web', image: 'v1', env: [{ name: 'A', value: '1' }] },
      { name: 'log', image: 'v1' },
    ],
    tolerations: [{ key: 'old' }],
    dnsPolicy: 'Default',
    nodeName: 'n1',
  },
}

function merge(patch: JsonObject): JsonObject {
  const merged = strategicMerge('Pod', pod, patch)
  if ('problem' in merged) throw new Error(merged.problem)
  return merged.value
}

test('lists with a merge key merge by it, at every depth', () => {
  const env = [
    { name: 'A', value: '2' },
    { name: 'B', value: '3' },
  ]
  expect(merge({ spec: { containers: [{ name: 'web', env }] } })['spec']).toMatchObject({
    containers: [
      { name: 'web', image: 'v1', env },
      { name: 'log', image: 'v1' },
    ],
  })
})

test('lists without one are replaced', () => {
  expect(merge({ spec: { tolerations: [{ key: 'new' }] } })['spec']).toMatchObject({
    tolerations: [{ key: 'new' }],
  })
})

test('lists of plain values are sets, from which values can be deleted', () => {
  const added = merge({ metadata: { finalizers: ['b', 'c'] } })
  expect(added['metadata']).toMatchObject({ finalizers: ['a', 'b', 'c'] })
  const deleted = merge({ metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } })
  expect(deleted['metadata']).toEqual({ finalizers: ['b'], labels: { x: '1' } })
})

test('$patch deletes and replaces', () => {
  const deleted = merge({ spec: { containers: [{ name: 'log', $patch: 'delete' }] } })
  expect(deleted['spec']).toMatchObject({ containers: [{ name: 'web' }] })
  expect((deleted['spec'] as JsonObject)['containers']).toHaveLength(1)
  const replaced = merge({ spec: { containers: [{ name: 'only' }, { $patch: 'replace' }] } })
  expect((replaced['spec'] as JsonObject)['containers']).toEqual([{ name: 'only' }])
  expect(merge({ metadata: { labels: { $patch: 'replace', y: '2' } } })['metadata']).toMatchObject({
    labels: { y: '2' },
  })
  expect(
    (merge({ metadata: { labels: { $patch: 'replace', y: '2' } } })['metadata'] as JsonObject)[
      'labels'
    ],
  ).toEqual({ y: '2' })
})

test('$retainKeys drops what it does not name, $setElementOrder sorts', () => {
  const retained = merge({ spec: { $retainKeys: ['nodeName', 'containers'], nodeName: 'n2' } })
  expect(Object.keys(retained['spec'] as JsonObject).sort()).toEqual(['containers', 'nodeName'])
  const sorted = merge({
    spec: { '$setElementOrder/containers': [{ name: 'log' }, { name: 'web' }] },
  })
  expect(sorted['spec']).toMatchObject({ containers: [{ name: 'log' }, { name: 'web' }] })
})

test('null deletes, the original stays as it was, magic keys are data', () => {
  const before = structuredClone(pod)
  const merged = merge(
    JSON.parse('{"spec":{"dnsPolicy":null,"__proto__":{"polluted":true}}}') as JsonObject,
  )
  expect(merged['spec']).not.toHaveProperty('dnsPolicy')
  expect(JSON.stringify(merged)).toContain('"__proto__":{"polluted":true}')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect(pod).toEqual(before)
})

test.each([
  [{ $patch: 'nonsense' }, 'unknown value of $patch'],
  [{ spec: { containers: [{ image: 'x' }] } }, 'lacks its merge key "name"'],
  [{ spec: { containers: ['x'] } }, 'an element is not an object'],
  [
    { spec: { '$setElementOrder/containers': 'x' } },
    'unknown value of $setElementOrder/containers',
  ],
])('%j is a problem, not an exception', (patch, text) => {
  expect(strategicMerge('Pod', pod, patch as JsonObject)).toEqual({
    problem: expect.stringContaining(text),
  })
})

test('merging long lists takes time in proportion to them', () => {
  const ports = Array.from({ length: 40_000 }, (_, port) => ({ port }))
  const names = ports.map(({ port }) => `n${port}`)
  const spec = {
    ports,
    $retainKeys: ['ports', ...names],
    '$setElementOrder/ports': ports.toReversed(),
  }
  const metadata = { finalizers: names, '$deleteFromPrimitiveList/finalizers': names }
  const old = { metadata: { finalizers: names }, spec: { ports } }
  const merged = strategicMerge('Service', old, { metadata, spec })
  expect(merged).toEqual({
    value: { metadata: { finalizers: [] }, spec: { ports: ports.toReversed() } },
  })
}, 10_000)
