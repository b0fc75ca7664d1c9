import type { Topology } from '../lab/topology.ts'

/** What leads connections through the node port to the endpoints, and masquerades them. */
export interface Subject {
  readonly name: string
  /** In the namespace of the node; the result ends it. */
  start(topology: Topology): Promise<() => Promise<void>>
}
