import type { NodeObject } from '../data/cluster-api.ts'
import { Store } from '../data/store.ts'
import type { NodeFailure, NodeReadings } from './node-reading.ts'

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

/** The Nodes, once they are listed; none with the signal. */
export function listed(
  { nodes }: ClusterState,
  signal: AbortSignal,
): Promise<readonly NodeObject[]> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (nodes.value === undefined && !signal.aborted) return
      stop()
      signal.removeEventListener('abort', look)
      resolve(nodes.value ?? [])
    }
    const stop = nodes.subscribe(look)
    signal.addEventListener('abort', look)
    look()
  })
}
