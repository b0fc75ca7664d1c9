import { expect, test } from 'vitest'
import { beyond } from './revision-line.ts'

const HOUR = 3_600_000

test('however fast a store wrote since its point, what is beyond it is larger', () => {
  const point = { revision: 500, time: 1000 * HOUR }
  const reached = 500 + 24 * 3600 * 99_999
  expect(beyond(point, 1024 * HOUR)).toBeGreaterThan(reached)
})

test('a clock that went back some hours does not take revisions back', () => {
  const point = { revision: 500, time: 1000 * HOUR }
  expect(beyond(point, 998 * HOUR)).toBeGreaterThan(500 + 2 * 3600 * 100_000)
})

test('after a century revisions are still exact numbers', () => {
  const century = 100 * 366 * 24 * HOUR
  expect(beyond({ revision: 0, time: 0 }, century)).toBeLessThan(Number.MAX_SAFE_INTEGER / 10)
})
