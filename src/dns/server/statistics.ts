import { createForwardingStatistics, type ForwardingStatistics } from './forwarding-statistics.ts'

/** Which way a question came. */
export type Transport = 'udp' | 'tcp'

/** Why a message got no answer, or a bare refusal. */
export type RefusalReason =
  | 'short'
  | 'response'
  | 'opcode'
  | 'counts'
  | 'name'
  | 'additional'
  | 'version'
  | 'class'
  | 'transfer'
  | 'network'
  | 'no-upstream'
  | 'overload'
  | 'not-ready'

/** Numbers since the start, which only grow. */
export interface Statistics {
  readonly questions: Record<Transport, number>
  /** By response code, 0 to 15 (16: bad version). */
  readonly responses: number[]
  readonly refusals: Map<RefusalReason, number>
  /** Responses that were cut, because the datagram was too small or the client had got too much. */
  truncated: number
  limited: number
  readonly forwarding: ForwardingStatistics
  /** Messages that got no answer because of a bug. */
  failures: number
  /** Connections of TCP that were opened, and those that the server closed because there were too many. */
  connections: number
  refusedConnections: number
}

const RCODES = 24

/** Statistics of a server that has not been queried yet. */
export function createStatistics(): Statistics {
  return {
    questions: { udp: 0, tcp: 0 },
    responses: Array.from({ length: RCODES }, () => 0),
    refusals: new Map(),
    ...{ truncated: 0, limited: 0, failures: 0, connections: 0, refusedConnections: 0 },
    forwarding: createForwardingStatistics(),
  }
}

/** Counts one refusal. */
export function countRefusal({ refusals }: Statistics, reason: RefusalReason): void {
  refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
}
