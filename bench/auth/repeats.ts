/** How often and how long everything is measured. */
export interface Repeats {
  readonly decisionRounds: number
  readonly requestRounds: number
  /** Creates of one subject in one round; a multiple of the turns. */
  readonly creates: number
  readonly gets: number
  readonly floodRounds: number
  /** Seconds of the good client, both alone and in the flood. */
  readonly floodSeconds: number
}

export const FULL: Repeats = {
  decisionRounds: 9,
  requestRounds: 12,
  creates: 600,
  gets: 16_000,
  floodRounds: 7,
  floodSeconds: 5,
}

/** For development: too few repetitions for figures that could be quoted. */
export const QUICK: Repeats = {
  ...FULL,
  decisionRounds: 3,
  requestRounds: 5,
  floodRounds: 2,
  floodSeconds: 3,
}
