import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  mergePatch,
  objectAt,
  ownValue,
  scalarText,
  setOwn,
  stringAt,
  valueAt,
  without,
} from './json.ts'

test('own values hide what every object inherits', () => {
  expect(ownValue({}, 'valueOf')).toBeUndefined()
  expect(ownValue({ valueOf: 'x' }, 'valueOf')).toBe('x')
  expect(valueAt({ a: {} }, 'a', 'constructor')).toBeUndefined()
})

test('setting __proto__ makes an own property and pollutes nothing', () => {
  const object: JsonObject = {}
  setOwn(object, '__proto__', { polluted: true })
  expect(JSON.stringify(object)).toBe('{"__proto__":{"polluted":true}}')
  expect(valueAt({}, 'polluted')).toBeUndefined()
})

test('paths end quietly where the document has another shape', () => {
  const document = { a: { b: 'text', c: [1], d: { e: true } } }
  expect(stringAt(document, 'a', 'b')).toBe('text')
  expect(stringAt(document, 'a', 'c')).toBe('')
  expect(arrayAt(document, 'a', 'c')).toEqual([1])
  expect(arrayAt(document, 'a', 'b')).toEqual([])
  expect(objectAt(document, 'a', 'd')).toEqual({ e: true })
  expect(objectAt(document, 'a', 'b', 'x')).toEqual({})
})

test('scalars have a text, containers have none', () => {
  expect([1, true, 'x', null, [], {}, undefined].map(scalarText)).toEqual([
    '1',
    'true',
    'x',
    '',
    '',
    '',
    '',
  ])
})

test('arrays and null are not objects', () => {
  expect([isJsonObject([]), isJsonObject(null), isJsonObject({})]).toEqual([false, false, true])
})

test('without leaves the original alone', () => {
  const object = { a: 1, b: 2 }
  expect(without(object, 'a', 'x')).toEqual({ b: 2 })
  expect(object).toEqual({ a: 1, b: 2 })
})

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
