/** How often and how long everything is measured. */
export interface Repeats {
  readonly fullSync: number
  readonly boundMs: number
  readonly idleSeconds: number
  readonly connections: number
  readonly replace: number
  readonly rawReplace: number
  readonly add: number
  /** Changes in one burst, and how many bursts. */
  readonly burst: number
  readonly bursts: number
  /** In ipvs mode: foreign clears, and events of a watch without a daemon. */
  readonly clears: number
  readonly events: number
  /** In userspace mode: how often every subject is measured, and for how long with each figure. */
  readonly rounds: number
  readonly roundMs: number
  /** Starts for the memory of idle connections, and how long these are watched. */
  readonly idleStarts: number
  readonly restMs: number
}

export const FULL: Repeats = {
  fullSync: 3,
  boundMs: 120_000,
  idleSeconds: 30,
  connections: 2_000,
  replace: 100,
  rawReplace: 30,
  add: 20,
  burst: 100,
  bursts: 5,
  clears: 5,
  events: 100,
  rounds: 5,
  roundMs: 2_500,
  idleStarts: 3,
  restMs: 10_000,
}

/** For development: the same steps, but too few of each for figures that could be quoted. */
export const QUICK: Repeats = {
  fullSync: 1,
  boundMs: 60_000,
  idleSeconds: 5,
  connections: 500,
  replace: 15,
  rawReplace: 10,
  add: 5,
  burst: 100,
  bursts: 2,
  clears: 2,
  events: 20,
  rounds: 2,
  roundMs: 500,
  idleStarts: 1,
  restMs: 2_000,
}
