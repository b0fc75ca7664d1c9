/** Different values, the most frequent one first. */
export function frequencies<T>(
  values: readonly T[],
): readonly (readonly [value: T, count: number])[] {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}
