import type { NodeObject } from '../data/kubernetes.ts'
import { Store } from '../data/store.ts'
import type { NodeFailure, NodeReadings } from '../nodes/node-reading.ts'

/** What the page knows of the cluster. */
export interface ClusterState {
  /** Undefined: the Nodes are not listed yet. */
  readonly nodes: Store<readonly NodeObject[] | undefined>
  /** Why the Nodes cannot be listed; undefined: they can. */
  readonly failure: Store<NodeFailure | undefined>
  readonly readings: Store<NodeReadings>
}

export function clusterState(): ClusterState {
  return {
    nodes: new Store<readonly NodeObject[] | undefined>(undefined),
    failure: new Store<NodeFailure | undefined>(undefined),
    readings: new Store<NodeReadings>(new Map()),
  }
}
