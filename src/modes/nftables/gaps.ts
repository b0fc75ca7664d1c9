import type { Gap } from '../mode.ts'

/** What this mode cannot do, and why. docs/semantics.md shows the list. */
export const GAPS: readonly Gap[] = [
  { scenario: 'IPVS schedulers', reason: 'the choice is always random' },
  {
    scenario:
      'session affinity: one Pod for all ports, where Pods have different numbers for one port name',
    reason:
      'a rule can add a port to the remembered address, but cannot look the port up by that address; such a port has clients of its own',
  },
]
