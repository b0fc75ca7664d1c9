/** The smallest value that a share `q` (0…1) of the samples does not exceed. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5)
}

/** `median (least–most)` of samples that are already in the unit that is printed. */
export function spread(samples: readonly number[], digits: number): string {
  if (samples.length === 0) return '–'
  const [least, most] = [Math.min(...samples), Math.max(...samples)]
  const middle = median(samples).toFixed(digits)
  return `${middle} (${least.toFixed(digits)}–${most.toFixed(digits)})`
}

/** Figures divided by those of the same round of the other subject, so that slow rounds are slow for both. */
export function ratios(ours: readonly number[], theirs: readonly number[]): readonly number[] {
  return ours.slice(0, theirs.length).map((figure, round) => figure / (theirs[round] ?? Number.NaN))
}
