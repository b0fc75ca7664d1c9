/** How often and how long everything is measured. */
export interface Repeats {
  readonly services: number
  /** Rounds of dnsperf, each with all subjects in turn. */
  readonly rateRounds: number
  readonly rateSeconds: number
  readonly latencySeconds: number
  /** Endpoints that are replaced, one after the other. */
  readonly changes: number
  readonly burstRounds: number
  /** Services whose endpoints change at once. */
  readonly burst: number
}

export const FULL: Repeats = {
  services: 10_000,
  rateRounds: 7,
  rateSeconds: 8,
  latencySeconds: 10,
  changes: 200,
  burstRounds: 5,
  burst: 1_000,
}

/** For development: too few repetitions for figures that could be quoted. */
export const QUICK: Repeats = {
  ...FULL,
  rateRounds: 2,
  rateSeconds: 3,
  latencySeconds: 3,
  changes: 40,
  burstRounds: 2,
}
