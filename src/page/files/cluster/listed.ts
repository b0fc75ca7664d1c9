import type { NodeObject } from '../data/kubernetes.ts'
import { RequestError } from '../data/request-error.ts'
import type { NodeFailure } from '../nodes/node-reading.ts'
import type { ClusterState } from './cluster-state.ts'

/** Resolves to the Nodes when they are listed; to an empty list if the signal is aborted before. */
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

/** The failure that a thrown value stands for. */
export function failureOf(error: unknown): NodeFailure {
  if (error instanceof RequestError) {
    const { message, code, status } = error
    return { message, code, status }
  }
  return { message: error instanceof Error ? error.message : String(error), code: '', status: 0 }
}
