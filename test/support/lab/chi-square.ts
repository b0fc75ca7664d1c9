/** `chiSquareOf` for counts that are all expected to be the same. */
export function chiSquareOfEqual(counts: readonly number[]): ReturnType<typeof chiSquareOf> {
  return chiSquareOf(
    counts,
    counts.map(() => 1),
  )
}

/**
 * The chi-square statistic of observed counts against expectations in proportion to `weights`, and the value that it
 * exceeds by chance with a probability of 10⁻¹¹ (by Wilson and Hilferty's approximation of the tail).
 */
export function chiSquareOf(
  counts: readonly number[],
  weights: readonly number[],
): { value: number; limit: number } {
  const total = sum(counts)
  const expected = weights.map((weight) => (total * weight) / sum(weights))
  const value = sum(
    counts.map((count, i) => (count - (expected[i] ?? 0)) ** 2 / (expected[i] ?? 0)),
  )
  return { value, limit: onceIn10To11(counts.length - 1) }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** The z of the normal distribution for a tail of 10⁻¹¹. A run of all tests has about twenty such values. */
const Z = 6.706

function onceIn10To11(freedom: number): number {
  const spread = 2 / (9 * freedom)
  return freedom * (1 - spread + Z * Math.sqrt(spread)) ** 3
}
