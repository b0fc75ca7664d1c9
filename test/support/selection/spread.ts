/** Merges two lists, each in its own order, with the items of the shorter one at even distances. */
export function spread<T>(few: readonly T[], many: readonly T[]): readonly T[] {
  if (few.length > many.length) return spread(many, few)
  const step = many.length / few.length
  return [
    ...few.flatMap((item, index) => {
      const [from, to] = [Math.round(index * step), Math.round((index + 1) * step)]
      return [item, ...many.slice(from, to)]
    }),
    ...(few.length === 0 ? many : []),
  ]
}
