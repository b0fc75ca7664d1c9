import type { WalkOutcome } from './walk-outcome.ts'

/** Adds the probabilities of equal outcomes; the steps are those of the likeliest, which comes first. */
export function mergeOutcomes(outcomes: readonly WalkOutcome[]): readonly WalkOutcome[] {
  const merged = new Map<string, { total: number; likeliest: WalkOutcome }>()
  for (const outcome of outcomes) {
    if (outcome.probability === 0) continue
    const { probability, steps: _, ...what } = outcome
    const key = JSON.stringify(what)
    const other = merged.get(key)
    const likeliest =
      other !== undefined && other.likeliest.probability >= probability ? other.likeliest : outcome
    merged.set(key, { total: (other?.total ?? 0) + probability, likeliest })
  }
  return [...merged.values()]
    .map(({ total, likeliest }) => ({ ...likeliest, probability: total }))
    .toSorted((a, b) => b.probability - a.probability)
}
