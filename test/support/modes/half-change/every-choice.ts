/** Chooses one of several ways on; there is one at least. */
export type Choose = <T>(ways: readonly T[]) => T

/**
 * Runs something again and again until every way that it may go has been gone once; the results. It has to
 * do the same where the same was chosen.
 */
export async function everyChoice<T>(run: (choose: Choose) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = []
  const path: { taken: number; ways: number }[] = []
  do {
    let depth = 0
    const choose: Choose = (ways) => {
      const fork = path[depth] ?? { taken: 0, ways: ways.length }
      path[depth++] = fork
      return ways[fork.taken]!
    }
    results.push(await run(choose))
    while (path.length > 0 && path.at(-1)!.taken === path.at(-1)!.ways - 1) path.pop()
    const last = path.at(-1)
    if (last !== undefined) last.taken++
  } while (path.length > 0)
  return results
}
