import type { Namespace } from '../lab/namespace.ts'
import type { Probe } from './probes.ts'

/** What another program does to rules of ours. */
export interface Sabotage {
  readonly what: string
  /** What no longer works until it is repaired. */
  readonly probe: Probe
  readonly harm: (node: Namespace) => Promise<unknown>
}

/** The changes of one mode. */
export interface Sabotages {
  readonly changes: readonly Sabotage[]
  /** Makes the kernel forget all clients of Services with affinity. */
  readonly forgetClients: (node: Namespace) => Promise<void>
}
