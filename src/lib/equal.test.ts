import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isDeepEqual } from './equal.ts'

test.each([
  [1, 1],
  [Number.NaN, Number.NaN],
  [undefined, undefined],
  [[], []],
  [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
  [
    { a: 1, b: 2 },
    { b: 2, a: 1 },
  ],
])('%j equals %j', (a, b) => {
  expect(isDeepEqual(a, b)).toBe(true)
})

test.each([
  [1, '1'],
  [0, -0],
  [null, undefined],
  [null, {}],
  [{}, null],
  [[], {}],
  [{}, []],
  [
    [1, 2],
    [2, 1],
  ],
  [[1], [1, 2]],
  [{ a: 1 }, { a: 1, b: undefined }],
  [{ a: undefined }, { b: undefined }],
  [{ toString: undefined }, { a: 1 }],
  [{ a: { b: 1 } }, { a: { b: 2 } }],
])('%j does not equal %j', (a, b) => {
  expect(isDeepEqual(a, b)).toBe(false)
  expect(isDeepEqual(b, a)).toBe(false)
})

test('a copy equals its original, and JSON that differs does not', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      expect(isDeepEqual(a, structuredClone(a))).toBe(true)
      if (JSON.stringify(sorted(a)) !== JSON.stringify(sorted(b))) {
        expect(isDeepEqual(a, b)).toBe(false)
      }
    }),
  )
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, sorted(item)])
}
