/** How often something is done to servers. */
interface Rounds {
  readonly most: number
  readonly least: number
  /** Milliseconds after which no further round begins, if there have been at least `least`. */
  readonly withinMs: number
}

/** As many rounds as fit into the time: fewer on a slow machine, where each takes longer. */
export function* rounds({ most, least, withinMs }: Rounds): Generator<number> {
  const end = performance.now() + withinMs
  for (let round = 0; round < most; round++) {
    if (round >= least && performance.now() > end) return
    yield round
  }
}
