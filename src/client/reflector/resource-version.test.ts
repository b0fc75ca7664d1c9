import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareVersions, isRewound } from './resource-version.ts'

test('versions are ordered as numbers, of any length', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n }), (a, b) => {
      const order = compareVersions(String(a), String(b))
      expect(Math.sign(order ?? Number.NaN)).toBe(a < b ? -1 : a > b ? 1 : 0)
    }),
  )
})

test('versions that are not decimal are not ordered', () => {
  expect(compareVersions('abc', '12')).toBeUndefined()
  expect(compareVersions('012', '12')).toBeUndefined()
  expect(isRewound('abc', '1')).toBe(false)
})

test('a lower version counts as rewound, an equal or higher one does not', () => {
  expect(isRewound('100', '99')).toBe(true)
  expect(isRewound('100', '100')).toBe(false)
  expect(isRewound('99', '100')).toBe(false)
})
