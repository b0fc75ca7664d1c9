/** How often and how long everything is measured. */
export interface Repeats {
  readonly starts: number
  readonly idleWatchers: number
  /** The number of Services, and of Endpoints, at the end of all rounds. */
  readonly objects: number
  readonly clients: number
  readonly rounds: number
  readonly roundMs: number
  /** Lists of one kind in one round. */
  readonly lists: number
  readonly watchers: readonly number[]
  /** In one round. */
  readonly writes: number
  readonly restMs: number
  /** How often a Pod becomes ready. */
  readonly readiness: number
}

export const FULL: Repeats = {
  starts: 3,
  idleWatchers: 1_000,
  objects: 10_000,
  clients: 8,
  rounds: 5,
  roundMs: 1_000,
  lists: 5,
  watchers: [1, 100, 1_000],
  writes: 20,
  restMs: 30,
  readiness: 50,
}

/** For development: the same sizes, but too few repetitions for figures that could be quoted. */
export const QUICK: Repeats = {
  ...FULL,
  starts: 1,
  rounds: 2,
  roundMs: 500,
  lists: 3,
  writes: 10,
  readiness: 10,
}
