import type { Gap } from '../mode.ts'

/** What this mode cannot do, and why. docs/semantics.md shows the list. */
export const GAPS: readonly Gap[] = [
  { scenario: 'IPVS schedulers', reason: 'the choice is always random' },
]
