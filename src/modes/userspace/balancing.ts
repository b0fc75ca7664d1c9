import type { Balancing } from './route.ts'

/** What the data path balances by, for one Service. */
export interface BalancingChoice {
  readonly balancing: Balancing
  /** False: the Service names a scheduler that only IPVS has. */
  readonly isKnown: boolean
}

/** The data path weighs backends always, so that the weighted schedulers are the same as the plain ones. */
const BALANCINGS: ReadonlyMap<string, Balancing> = new Map([
  ['rr', 'rr'],
  ['wrr', 'rr'],
  ['lc', 'lc'],
  ['wlc', 'lc'],
])

/** The scheduler that a Service names, where this mode has it; else the configured one. */
export function balancingOf(scheduler: string | undefined, fallback: Balancing): BalancingChoice {
  if (scheduler === undefined) return { balancing: fallback, isKnown: true }
  const balancing = BALANCINGS.get(scheduler)
  return { balancing: balancing ?? fallback, isKnown: balancing !== undefined }
}
