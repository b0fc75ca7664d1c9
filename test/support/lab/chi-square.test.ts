import { expect, test } from 'vitest'
import { chiSquareOfEqual } from './chi-square.ts'

test('an even spread is far below the limit, a skewed one above it', () => {
  expect(chiSquareOfEqual([1000, 1010, 990])).toMatchObject({
    value: expect.closeTo(0.2, 6) as number,
  })
  const skewed = chiSquareOfEqual([1500, 750, 750])
  expect(skewed.value).toBeGreaterThan(skewed.limit)
})

/** χ² quantiles at 1 − 10⁻¹¹. */
test.each([
  [1, 46.33],
  [2, 50.66],
  [9, 70.93],
])(
  'with %i degrees of freedom the limit is the tabled one, or somewhat above',
  (freedom, tabled) => {
    const { limit } = chiSquareOfEqual(Array<number>(freedom + 1).fill(10))
    expect(limit / tabled).toBeGreaterThan(0.999)
    expect(limit / tabled).toBeLessThan(1.33)
  },
)
