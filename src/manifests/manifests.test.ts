import { expect, test } from 'vitest'
import { positionText } from '../lib/yaml.ts'
import { parseManifests } from './manifests.ts'

const TEXT = `# first
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - port: 80
    targetPort: 99999
---
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
    annotations:
      a.b/c: d
`

test('reads all documents, and the items of lists', () => {
  const found = parseManifests({ file: 'f', text: TEXT })
  expect(found.map(({ object }) => object['kind'])).toEqual(['Service', 'ConfigMap'])
})

test.each([
  [0, '', 'f:2:1'],
  [0, 'spec.ports[0].targetPort', 'f:8:5'],
  [0, 'spec.ports[0].name', 'f:7:5'],
  [0, 'spec.type', 'f:5:1'],
  [0, 'metadata.name', 'f:4:12'],
  [1, 'metadata.annotations[a.b/c]', 'f:19:7'],
  [1, '', 'f:14:3'],
])('of object %i the field %j stands at %s', (index, field, place) => {
  const manifest = parseManifests({ file: 'f', text: TEXT })[index]
  expect(positionText(manifest!.position(field))).toBe(place)
})

test('reads JSON', () => {
  const text = '{\n\t"apiVersion": "v1",\n\t"kind": "Namespace",\n\t"metadata": {"name": "n"}\n}\n'
  expect(parseManifests({ file: 'f', text })[0]?.object).toMatchObject({ kind: 'Namespace' })
})

test('items of a list of a kind have its version and kind', () => {
  const service = '- metadata: {name: web}\n- kind: Other\n  metadata: {name: x}\n'
  const text = `apiVersion: v1\nkind: ServiceList\nmetadata: {}\nitems:\n${service}`
  expect(parseManifests({ file: 'f', text }).map(({ object }) => object)).toEqual([
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
    { apiVersion: 'v1', kind: 'Other', metadata: { name: 'x' } },
  ])
})

test('a number that JSON lacks is refused', () => {
  const text = 'apiVersion: v1\nkind: A\nspec: {replicas: .inf}\n'
  expect(() => parseManifests({ file: 'f', text })).toThrow(
    'f:3:18: Infinity, which no field of the API can hold',
  )
})

test.each([
  ['apiVersion: v1\nkind: A\nkind: B\n', 'f:3:1: the field stands here for the second time'],
  ['a:\n\t- b\n', 'f:2:1: tabs cannot indent YAML'],
  ['kind: A\n', 'f:1:1: apiVersion is missing'],
  ['apiVersion: v1\n', 'f:1:1: kind is missing'],
  ['apiVersion: v1\nkind: *k\n', 'f:2:7: an alias without its anchor'],
  ['['.repeat(2_000), 'nested too deeply'],
  ['- a\n', 'f:1:1: an object is missing'],
  ['apiVersion: v1\nkind: A\n---\nb\n', 'f:4:1: an object is missing'],
  ['apiVersion: v1\nkind: List\nitems:\n- 1\n', 'f:4:3: an item of a List is an object'],
])('%j is refused with its place', (text, message) => {
  expect(() => parseManifests({ file: 'f', text })).toThrow(message)
})

test('aliases cannot grow', () => {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(9)}]`,
  )
  const text = `apiVersion: v1\nkind: A\nl0: &l0 [x]\n${levels.join('\n')}\n`
  expect(() => parseManifests({ file: 'f', text })).toThrow('too many aliases')
})
