import type { Gap } from '../mode.ts'

/** What this mode cannot do, and why. docs/semantics.md shows the list. */
export const GAPS: readonly Gap[] = [
  { scenario: 'endpoint weights', reason: 'every endpoint of a Service is equally likely' },
  { scenario: 'IPVS schedulers', reason: 'the choice is always random' },
]
