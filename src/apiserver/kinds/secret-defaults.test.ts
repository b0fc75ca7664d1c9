import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { applyDefaults } from './testing/rules-by-kind.ts'

test.each<[Raw, Raw]>([
  [{}, { type: 'Opaque' }],
  [
    { type: 'x', data: { a: 'YQ==\n' } },
    { type: 'x', data: { a: 'YQ==' } },
  ],
  [{ stringData: { a: 'ä' } }, { type: 'Opaque', data: { a: 'w6Q=' } }],
  [
    { data: { a: 'YQ==', b: 'Yg==' }, stringData: { b: 'B' } },
    { type: 'Opaque', data: { a: 'YQ==', b: 'Qg==' } },
  ],
  [{ stringData: { a: 1 } }, { type: 'Opaque', stringData: { a: 1 } }],
  [
    { stringData: { a: 'x' }, data: 'y' },
    { type: 'Opaque', stringData: { a: 'x' }, data: 'y' },
  ],
])('the Secret %j is stored as %j', (given, expected) => {
  expect(applyDefaults('Secret', given)).toEqual(expected)
})

test('a key named __proto__ is a key', () => {
  const secret = applyDefaults('Secret', { stringData: JSON.parse('{"__proto__":"x"}') as Raw })
  expect(JSON.stringify(secret)).toBe('{"type":"Opaque","data":{"__proto__":"eA=="}}')
})

test('base64 of a ConfigMap loses its line breaks, text keeps them', () => {
  expect(applyDefaults('ConfigMap', { data: { a: 'x\n' }, binaryData: { b: 'YQ\r\n==' } })).toEqual(
    {
      data: { a: 'x\n' },
      binaryData: { b: 'YQ==' },
    },
  )
})
