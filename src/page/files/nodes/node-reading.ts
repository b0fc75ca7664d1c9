import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'

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
