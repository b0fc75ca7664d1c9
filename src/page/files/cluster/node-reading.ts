import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import { messageOf, RequestError } from '../data/connection.ts'

/** What is known of the node-proxy of one node. */
export interface NodeReading {
  /** The status in the last answer; undefined if there was none yet. */
  readonly status: StatusResponseJson | undefined
  /** The status in the answer before the last one; undefined if there was none. */
  readonly before: StatusResponseJson | undefined
  /** Why the last request failed; undefined if it was answered. */
  readonly failure: NodeFailure | undefined
  /** Requests that failed since the last answer. */
  readonly failures: number
}

/** Why a request was refused or got no answer. The fields are those of RequestError. */
export interface NodeFailure {
  readonly message: string
  /** The code of docs/errors.md, `NP_…`, if a node-proxy gave one; otherwise empty. */
  readonly code: string
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
}

/** Readings by the name of the node. */
export type NodeReadings = ReadonlyMap<string, NodeReading>

/** The reading after one more answer, with the status of that answer. */
export function answered(old: NodeReading | undefined, status: StatusResponseJson): NodeReading {
  return { status, before: old?.status, failure: undefined, failures: 0 }
}

/** The reading after a request that failed. The last status stays. */
export function failed(old: NodeReading | undefined, failure: NodeFailure): NodeReading {
  const { status, before, failures = 0 } = old ?? {}
  return { status, before, failure, failures: failures + 1 }
}

/** The failure that a thrown value describes. Anything but a RequestError has no code, and the status 0. */
export function failureOf(error: unknown): NodeFailure {
  if (error instanceof RequestError) {
    const { message, code, status } = error
    return { message, code, status }
  }
  return { message: messageOf(error), code: '', status: 0 }
}

/** What a user of the page can do about a failure. */
export interface Remedy {
  readonly text: string
  /** A command that the user may run; empty if there is none. */
  readonly command: string
}

/** The command that grants a ServiceAccount the role with all permissions that the page needs. */
export const GRANT =
  'orchctl create clusterrolebinding page-readers --clusterrole=node-inspection-reader --serviceaccount=NAMESPACE:NAME'

/**
 * What to do about a node that cannot be read. An error of a node-proxy has a code, also if orch-server passes it on as
 * a cause of its Status. An error of orch-server itself has no code. If the node is at fault, the message of that error
 * contains the remedy.
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
