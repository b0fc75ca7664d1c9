const NONE: readonly never[] = Object.freeze([])

/** The defined values, in a list without spare capacity; all empty lists are the same object. */
export function present<T>(values: Iterable<T | undefined>): readonly T[] {
  const found: T[] = []
  for (const value of values) if (value !== undefined) found.push(value)
  return found.length === 0 ? NONE : found.slice()
}
