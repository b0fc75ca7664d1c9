import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backend } from '../../testing/mode-fixtures.ts'
import { choicesOf, MAX_CHOICES } from './routes.ts'

/** Choices of each backend, in their order. */
function countsOf(...weights: readonly number[]): readonly number[] {
  const pool = weights.map((weight, n) => backend(`10.${n >> 8}.${n & 255}.1`, { weight }))
  const choices = choicesOf(pool)
  return pool.map((one) => choices.filter((choice) => choice === one).length)
}

test.each([
  ['equal weights are one choice each', [7, 7, 7], [1, 1, 1]],
  ['weights are divided by their greatest common divisor', [6, 4, 2], [3, 2, 1]],
  ['weight 0 is no choice', [0, 5, 0, 10], [0, 1, 0, 2]],
  ['all of weight 0', [0, 0], [0, 0]],
  ['no backend', [], []],
  ['a sum of the most choices is exact', [4_095, 1], [4_095, 1]],
  ['a weight below one choice keeps one', [65_535, 1], [4_095, 1]],
  ['the rest goes by the largest remainder', [65_535, 65_535, 65_534], [1_366, 1_365, 1_365]],
  ['equal remainders go to the first', [65_535, 65_534, 65_534], [1_366, 1_365, 1_365]],
])('%s', (_what, weights, counts) => {
  expect(countsOf(...weights)).toEqual(counts)
})

test('more backends than choices have one each', () => {
  const counts = countsOf(...Array.from({ length: 5_000 }, (_, n) => 1 + (n % 7)))
  expect(new Set(counts)).toEqual(new Set([1]))
})

const someWeights = fc.array(fc.oneof(fc.nat(5), fc.nat(65_535)), { minLength: 1, maxLength: 30 })

test('up to the most choices probabilities are exact', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(130), { minLength: 1, maxLength: 30 }), (weights) => {
      const [sum, counts] = [sumOf(weights), countsOf(...weights)]
      const all = sumOf(counts)
      for (const [index, weight] of weights.entries()) {
        expect(counts[index]! * sum).toBe(weight * all)
      }
    }),
  )
})

test('there are never more, and every weight above 0 has one', () => {
  fc.assert(
    fc.property(someWeights, (weights) => {
      const counts = countsOf(...weights)
      expect(sumOf(counts)).toBeLessThanOrEqual(MAX_CHOICES)
      expect(counts.map((count) => count > 0)).toEqual(weights.map((weight) => weight > 0))
    }),
  )
})

test('where no share is below one choice, each differs from the exact one by less than a choice', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1_000, max: 65_535 }), { minLength: 2, maxLength: 20 }),
      (weights) => {
        const [sum, counts] = [sumOf(weights), countsOf(...weights)]
        const all = sumOf(counts)
        for (const [index, weight] of weights.entries()) {
          expect(Math.abs(counts[index]! - (weight * all) / sum)).toBeLessThan(1)
        }
      },
    ),
  )
})

test('equal weights have counts that differ by one at most; a larger weight never has fewer', () => {
  fc.assert(
    fc.property(someWeights, (weights) => {
      const counts = countsOf(...weights)
      for (const [a, weight] of weights.entries()) {
        for (const [b, other] of weights.entries()) {
          if (weight === other) expect(Math.abs(counts[a]! - counts[b]!)).toBeLessThanOrEqual(1)
          if (weight > other) expect(counts[a]).toBeGreaterThanOrEqual(counts[b]!)
        }
      }
    }),
  )
})

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
