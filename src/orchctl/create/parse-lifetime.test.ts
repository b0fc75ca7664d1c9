import { expect, test } from 'vitest'
import { parseLifetime } from './token.ts'

test.each([
  ['24h', 86_400],
  ['10m', 600],
  ['30d', 2_592_000],
  ['2y', 63_072_000],
  ['1w', 604_800],
  ['1y1d6h', 31_536_000 + 86_400 + 21_600],
])('%s', (text, seconds) => {
  expect(parseLifetime(text)).toBe(seconds)
})

test.each(['', '0', '0d', '-1h', '1', 'd', '1h2d', '1.5d', 'soon'])('%j is refused', (text) => {
  expect(parseLifetime(text)).toBeUndefined()
})
