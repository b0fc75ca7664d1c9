import type { StatusMessage } from '../data/messages.ts'

/** What is known of the node-proxy of one node. */
export interface NodeReading {
  /** The status of the last answer; `before`: of the one before. */
  readonly status: StatusMessage | undefined
  readonly before: StatusMessage | undefined
  /** Why the last request failed; undefined: it was answered. */
  readonly failure: NodeFailure | undefined
  /** Requests that failed since the last answer. */
  readonly failures: number
}

/** A request that was refused or got no answer; the fields are those of RequestError. */
export interface NodeFailure {
  readonly message: string
  readonly code: string
  readonly status: number
}

/** Readings by the name of the node. */
export type NodeReadings = ReadonlyMap<string, NodeReading>

/** A reading after one more answer. */
export function answered(old: NodeReading | undefined, status: StatusMessage): NodeReading {
  return { status, before: old?.status, failure: undefined, failures: 0 }
}

/** A reading after a request that failed; keeps what was read last. */
export function failed(old: NodeReading | undefined, failure: NodeFailure): NodeReading {
  const { status, before, failures = 0 } = old ?? {}
  return { status, before, failure, failures: failures + 1 }
}
