/** The value that more than half of these have; undefined: there is none. */
export function majorityOf<T>(values: readonly T[]): T | undefined {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].find(([, count]) => count * 2 > values.length)?.[0]
}

/** Different values, the most frequent one first. */
export function frequencies<T>(
  values: readonly T[],
): readonly (readonly [value: T, count: number])[] {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}
