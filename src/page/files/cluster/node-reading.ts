import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import { RequestError } from '../data/connection.ts'

/** What is known of the node-proxy of one node. */
export interface NodeReading {
  /** Of the last answer, and of the one before. */
  readonly status: StatusResponseJson | undefined
  readonly before: StatusResponseJson | undefined
  /** Why the last request failed; undefined: it was answered. */
  readonly failure: NodeFailure | undefined
  /** Requests that failed since the last answer. */
  readonly failures: number
}

/** A request that was refused or got no answer, as RequestError has it. */
export interface NodeFailure {
  readonly message: string
  readonly code: string
  readonly status: number
}

/** Readings by the name of the node. */
export type NodeReadings = ReadonlyMap<string, NodeReading>

/** A reading after one more answer. */
export function answered(old: NodeReading | undefined, status: StatusResponseJson): NodeReading {
  return { status, before: old?.status, failure: undefined, failures: 0 }
}

/** A reading after a request that failed: what was read last stays. */
export function failed(old: NodeReading | undefined, failure: NodeFailure): NodeReading {
  const { status, before, failures = 0 } = old ?? {}
  return { status, before, failure, failures: failures + 1 }
}

/** What went wrong, of anything that was thrown. */
export function failureOf(error: unknown): NodeFailure {
  if (error instanceof RequestError) {
    const { message, code, status } = error
    return { message, code, status }
  }
  return { message: error instanceof Error ? error.message : String(error), code: '', status: 0 }
}

/** A command that a reader may run. */
export interface Remedy {
  readonly text: string
  /** Empty: none. */
  readonly command: string
}

/** The role that holds all that the page reads, and how a user gets it. */
export const GRANT =
  'orchctl create clusterrolebinding page-readers --clusterrole=node-inspection-reader --serviceaccount=NAMESPACE:NAME'

/**
 * What to do about a node that cannot be read. Errors of a node-proxy have a code, also as a cause of a Status; those of orch-server have none, and their
 * messages have the remedy where the node is at fault.
 */
export function nodeRemedy(name: string, { status, code }: NodeFailure): Remedy {
  if (status === 0) return { text: 'There was no answer in time; it is read again.', command: '' }
  if (code !== '') {
    return { text: 'The node-proxy answered with this error; it is read again.', command: '' }
  }
  if (status === 403) {
    return { text: 'Your user may not get nodes/proxy of this node.', command: GRANT }
  }
  if (status === 404) {
    const text = 'The Node is gone, or this orch-server forwards no requests to nodes.'
    return { text, command: '' }
  }
  const word = /^[\w.-]+$/.test(name) ? name : 'NAME'
  return {
    text: 'Once that is done, this shows whether orch-server can read the node:',
    command: `kubectl get --raw /api/v1/nodes/${word}/proxy/inspection/v1/status`,
  }
}
