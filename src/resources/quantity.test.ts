import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalQuantity, milliQuantity } from './quantity.ts'

test.each<[unknown, unknown]>([
  ['0.5', '500m'],
  [0.5, '500m'],
  [0.1, '100m'],
  [1_000_000_000, '1G'],
  [0, '0'],
  ['0.000', '0'],
  ['-0', '0'],
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['100m', '100m'],
  ['1.', '1'],
  ['.5k', '500'],
  ['+2', '2'],
  ['-1.5', '-1500m'],
  ['1024Mi', '1Gi'],
  ['1.5Gi', '1536Mi'],
  ['1000Mi', '1000Mi'],
  ['1023', '1023'],
  ['1Ki', '1Ki'],
  ['0.5Ki', '512'],
  ['-2048Ki', '-2Mi'],
  ['1.0001Ki', '1024102400u'],
  ['1e3', '1e3'],
  ['1000e3', '1e6'],
  ['5e-1', '500e-3'],
  ['0.0000000001', '1n'],
  ['-0.0000000001', '-1n'],
  ['1e-20', '1e-9'],
  ['9223372036854775807', '9223372036854775807'],
  ['9E', '9E'],
  ['9999E', '9999E'],
  ['20000000000000000000', '20000000000000000000'],
  ['0.9765625Ki', '1k'],
  ['1e999999999999999999', '1e999999999999999999'],
  ['9'.repeat(1000), '9'.repeat(1000)],
  ['x', 'x'],
  ['', ''],
  [true, true],
  [undefined, undefined],
])('%s is %s', (given, expected) => {
  expect(canonicalQuantity(given)).toBe(expected)
})

test('a canonical quantity stays as it is', () => {
  const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-3')
  const texts = fc.tuple(fc.integer(), suffix).map(([count, unit]) => `${count}${unit}`)
  fc.assert(
    fc.property(texts, (text) => {
      const once = canonicalQuantity(text)
      expect(canonicalQuantity(once)).toBe(once)
    }),
  )
})

test.each([
  ['4', 4000],
  ['3920m', 3920],
  [0.5, 500],
  ['1u', 1],
  ['2k', 2_000_000],
  ['1Ki', 1_024_000],
  ['0', 0],
  ['-1', undefined],
  ['1E', undefined],
  ['x', undefined],
  ['', undefined],
  [undefined, undefined],
  [{}, undefined],
])('%s is %s thousandths', (given, expected) => {
  expect(milliQuantity(given)).toBe(expected)
})
