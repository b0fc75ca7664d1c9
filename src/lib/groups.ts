/** The items in their order, in groups of `size`; the last group may be smaller. */
export function* inGroups<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
