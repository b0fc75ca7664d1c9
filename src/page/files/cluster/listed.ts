import type { NodeObject } from '../data/kubernetes.ts'
import type { ClusterState } from './cluster-state.ts'

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
