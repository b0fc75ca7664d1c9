import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

function places(parts: Raw): readonly string[] {
  const object = { metadata: { name: 'x', namespace: 'shop' }, ...parts }
  return placesOf(validateObject('ConfigMap', applyDefaults('ConfigMap', object)))
}

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ data: { 'a.b-C_1': '', __proto__: 'x' }, binaryData: { b: 'YQ==' }, immutable: true }, []],
  [{ data: 'x' }, ['data "(withheld)"']],
  [{ data: { a: 1 } }, ['data[a] "(withheld)"']],
  [{ data: { 'a b': 'x' } }, ['data "a b"']],
  [{ data: { '..a': 'x', '.': 'y' } }, ['data "..a"', 'data "."']],
  [{ data: { ['k'.repeat(254)]: 'x' } }, [`data "${'k'.repeat(78)}…`]],
  [{ binaryData: { 'a.b': 'YQ' } }, ['binaryData[a.b] "(withheld)"']],
  [{ data: { a: 'x' }, binaryData: { a: 'YQ==' } }, ['binaryData "a"']],
  [{ immutable: 'yes' }, ['immutable "yes"']],
])('%j: %j', (parts, expected) => {
  expect(places(parts)).toEqual(expected)
})

test('text and bytes together are limited to 1 MiB', () => {
  const half = 'x'.repeat(1 << 19)
  const binary = Buffer.alloc(1 << 19).toString('base64')
  expect(places({ data: { a: half }, binaryData: { b: binary } })).toEqual([])
  expect(places({ data: { a: `${half}x` }, binaryData: { b: binary } })).toEqual([
    'data "(withheld)"',
  ])
})
