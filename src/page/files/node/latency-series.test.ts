import { expect, test } from 'vitest'
import { addChanges, latencyColumns, percentile } from './latency-series.ts'

const change = (appliedAt: number, ms: number, hasFailures = false) => ({
  service: 'a/b',
  compiledAt: `${appliedAt - ms}`,
  appliedAt: `${appliedAt}`,
  hasFailures,
})

test('a change becomes a point of time and latency; failures have a column of their own', () => {
  const points = addChanges([], [change(3_000, 40), change(1_000, 0), change(2_000, 9, true)])
  expect(latencyColumns(points)).toEqual([
    [1, 2, 3],
    [0.5, null, 40],
    [null, 9, null],
  ])
})

test('only so many points are kept, the newest', () => {
  const first = addChanges(
    [],
    Array.from({ length: 4_000 }, (_, index) => change(index, 1)),
  )
  const points = addChanges(first, [change(9_999, 1)])
  expect([points.length, points[0]?.at, points.at(-1)?.at]).toEqual([4_000, 1, 9_999])
})

test('percentiles are latencies that occurred', () => {
  const points = addChanges(
    [],
    [5, 1, 4, 2, 3].map((ms) => change(10, ms)),
  )
  expect([0.5, 0.99, 1, 0].map((share) => percentile(points, share))).toEqual([3, 5, 5, 1])
  expect(percentile([], 0.5)).toBeUndefined()
})
