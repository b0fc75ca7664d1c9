import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json, JsonObject } from './json.ts'
import { mergePatch } from './merge-patch.ts'

test.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'foo' }, null, null],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('RFC 7396: %j merged with %j is %j', (target, patch, result) => {
  expect(mergePatch(target as Json, patch as Json)).toEqual(result)
})

test('no patch reaches a prototype or changes its target', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
      const before = JSON.stringify(target)
      mergePatch(target as Json, patch as Json)
      expect(JSON.stringify(target)).toBe(before)
    }),
  )
  const merged = mergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject)
  expect(JSON.stringify(merged)).toBe('{"__proto__":{"polluted":true}}')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})
