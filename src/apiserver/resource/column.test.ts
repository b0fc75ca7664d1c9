import { expect, test } from 'vitest'
import { shortDuration } from '../../lib/duration.ts'
import { ageColumn } from './column.ts'

test.each([
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [200, '3m20s'],
  [600, '10m'],
  [3 * 3600 + 60, '3h1m'],
  [9 * 3600, '9h'],
  [2 * 86400 + 3 * 3600, '2d3h'],
  [400 * 86400, '400d'],
])('%i seconds read as %s', (seconds, text) => {
  expect(shortDuration(seconds)).toBe(text)
})

test('an object without a readable creation time has an unknown age', () => {
  expect(ageColumn.cell({ metadata: {} }, 0)).toBe('<unknown>')
})
