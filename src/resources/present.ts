const NONE: readonly never[] = Object.freeze([])

/** The values that are there, in a list with no room to spare; all empty lists are one. */
export function present<T>(values: Iterable<T | undefined>): readonly T[] {
  const found: T[] = []
  for (const value of values) if (value !== undefined) found.push(value)
  return found.length === 0 ? NONE : found.slice()
}
