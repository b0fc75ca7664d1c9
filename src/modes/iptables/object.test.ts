import { expect, test } from 'vitest'
import type { ObjectKey } from '../mode.ts'
import { digestRules, type IptablesObject, keyOf, objectOf } from './object.ts'

test.each<[string, IptablesObject]>([
  ['4/nat/NPROXY-VIPS', { kind: 'chain', family: 4, table: 'nat', chain: 'NPROXY-VIPS' }],
  [
    '6/filter/INPUT>-m conntrack --ctstate NEW -j NPROXY-FILTER',
    {
      kind: 'jump',
      family: 6,
      table: 'filter',
      chain: 'INPUT',
      rule: '-m conntrack --ctstate NEW -j NPROXY-FILTER',
    },
  ],
  ['set/NPROXY-A4-x', { kind: 'set', name: 'NPROXY-A4-x' }],
])('%s', (text, object) => {
  expect(keyOf(object)).toBe(text)
  expect(objectOf(text as ObjectKey)).toEqual(object)
})

test('a key of something else is a bug', () => {
  expect(() => objectOf('5/nat/X' as ObjectKey)).toThrow(TypeError)
})

test('order and boundaries of rules count', () => {
  const digests = [['a', 'b'], ['b', 'a'], ['a b'], ['ab'], []].map(digestRules)
  expect(new Set(digests).size).toBe(digests.length)
})
