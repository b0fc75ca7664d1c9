import { expect, test } from 'vitest'
import { revisionBeyond } from './log-reader.ts'

const HOUR = 3_600_000

test('revisionBeyond is above all revisions at the highest rate', () => {
  const point = { revision: 500, time: 1000 * HOUR }
  const reached = 500 + 24 * 3600 * 99_999
  expect(revisionBeyond(point, 1024 * HOUR)).toBeGreaterThan(reached)
})

test('revisionBeyond allows for a clock that went back some hours', () => {
  const point = { revision: 500, time: 1000 * HOUR }
  expect(revisionBeyond(point, 998 * HOUR)).toBeGreaterThan(500 + 2 * 3600 * 100_000)
})

test('after a century revisions are still safe integers', () => {
  const century = 100 * 366 * 24 * HOUR
  expect(revisionBeyond({ revision: 0, time: 0 }, century)).toBeLessThan(
    Number.MAX_SAFE_INTEGER / 10,
  )
})
