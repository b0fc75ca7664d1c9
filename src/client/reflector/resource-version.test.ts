import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareVersions, isRewound } from './reflector-state.ts'

test('decimal versions of any length are compared as numbers', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n }), (a, b) => {
      const order = compareVersions(String(a), String(b))
      expect(Math.sign(order ?? Number.NaN)).toBe(a < b ? -1 : a > b ? 1 : 0)
    }),
  )
})

test('versions that are not decimal are not compared', () => {
  expect(compareVersions('abc', '12')).toBeUndefined()
  expect(compareVersions('012', '12')).toBeUndefined()
  expect(isRewound('abc', '1')).toBe(false)
})

test('isRewound is true for a lower version, and false for an equal one', () => {
  expect(isRewound('100', '99')).toBe(true)
  expect(isRewound('100', '100')).toBe(false)
  expect(isRewound('99', '100')).toBe(false)
})
