import type { Namespace } from '../lab/namespace.ts'
import type { Probe } from './probes.ts'

/** A change of the daemon's rules by another program. */
export interface Sabotage {
  readonly what: string
  /** The connection that does not work until the change is repaired. */
  readonly probe: Probe
  readonly harm: (node: Namespace) => Promise<unknown>
}

/** The changes of one mode. */
export interface Sabotages {
  readonly changes: readonly Sabotage[]
  /** Makes the kernel forget all clients of Services with affinity. */
  readonly forgetClients: (node: Namespace) => Promise<void>
}
