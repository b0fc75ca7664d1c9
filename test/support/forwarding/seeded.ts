/** Integers in [0, bound), the same for the same seed (mulberry32). */
export type Dice = (bound: number) => number

export function seeded(seed: number): Dice {
  let state = seed >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
}

/** Bytes of one direction: often few or none, at times as much as 4 MiB. */
export function someLength(dice: Dice): number {
  const kind = dice(100)
  if (kind < 10) return 0
  if (kind < 40) return dice(2_000)
  if (kind < 80) return dice(1 << 16)
  return dice(kind < 97 ? 1 << 19 : 1 << 22)
}
