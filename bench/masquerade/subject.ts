import type { Topology } from '../lab/topology.ts'

/** A program or rules that lead connections from the node port to the endpoints, and masquerade them. */
export interface Subject {
  readonly name: string
  /** Whether the node connects to the endpoints itself, as a proxy in user space does. */
  readonly connectsItself?: boolean
  /** Starts it in the namespace of the node. `folder` is the subject's own. @returns a function that ends it */
  start(topology: Topology, options: SubjectOptions): Promise<() => Promise<void>>
}

export interface SubjectOptions {
  readonly loads: number
  readonly folder: string
}
