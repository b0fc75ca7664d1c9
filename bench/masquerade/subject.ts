import type { Topology } from '../lab/topology.ts'

/** What leads connections through the node port to the endpoints, and masquerades them. */
export interface Subject {
  readonly name: string
  /** Whether the node connects to the endpoints itself, as a proxy in user space does. */
  readonly connectsItself?: boolean
  /** In the namespace of the node, for so many loads; `folder` is the subject's own. The result ends it. */
  start(topology: Topology, options: SubjectOptions): Promise<() => Promise<void>>
}

export interface SubjectOptions {
  readonly loads: number
  readonly folder: string
}
