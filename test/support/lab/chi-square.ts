/**
 * Chi-square statistic of observed counts against equal expectations, and the
 * value that it exceeds by chance once in a million times (Wilson and Hilferty's
 * approximation of the distribution's tail).
 */
export function chiSquareOfEqual(counts: readonly number[]): { value: number; limit: number } {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const expected = total / counts.length
  const value = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  return { value, limit: oneInAMillion(counts.length - 1) }
}

/** z of the normal distribution for a tail of 10⁻⁶. */
const Z = 4.753

function oneInAMillion(freedom: number): number {
  const spread = 2 / (9 * freedom)
  return freedom * (1 - spread + Z * Math.sqrt(spread)) ** 3
}
