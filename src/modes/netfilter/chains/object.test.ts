import { expect, test } from 'vitest'
import type { ObjectKey } from '../../mode.ts'
import { digestRules, keyOf, objectOf, type RuleObject } from './object.ts'

test.each<[string, RuleObject]>([
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
  ['4/mangle/NPVS-ROUTE', { kind: 'chain', family: 4, table: 'mangle', chain: 'NPVS-ROUTE' }],
])('%s', (text, object) => {
  expect(keyOf(object)).toBe(text)
  expect(objectOf(text as ObjectKey)).toEqual(object)
})

test.each(['5/nat/X', '4/raw/X', 'set/NPROXY-A4-x'])('%s is something else: a bug', (text) => {
  expect(() => objectOf(text as ObjectKey)).toThrow(TypeError)
})

test('order and boundaries of rules count', () => {
  const digests = [['a', 'b'], ['b', 'a'], ['a b'], ['ab'], []].map(digestRules)
  expect(new Set(digests).size).toBe(digests.length)
})
