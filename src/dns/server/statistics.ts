import { CountedHistogram } from '../../telemetry/metrics/counted-histogram.ts'
import type { ForwardObserver } from '../forward/forwarder.ts'
import { upstreamName } from '../forward/upstream/upstream.ts'

/** Counters of the questions that are forwarded to other servers. */
export interface ForwardingStatistics {
  /** Questions by where the answer came from, or why there is none. */
  readonly results: Map<string, number>
  /** Queries to upstreams, by `<upstream> <result>`. */
  readonly attempts: Map<string, number>
  /** Messages that were no reply to the query, by `<upstream> <reason>`. */
  readonly discarded: Map<string, number>
  /** Entries that a full cache removed. */
  evicted: number
}

/** The transport by which a question arrived. */
export type Transport = 'udp' | 'tcp'

/** Why a message got no answer, or only a refusal. */
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

/** The name of a question: in the domain of the cluster, or in one that other servers answer. */
export type NameDomain = 'cluster' | 'other'

/** Upper bounds of buckets in seconds: answers about the cluster take microseconds, those of upstreams up to seconds. */
export const DURATION_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
]

/** Counters since the start. */
export interface Statistics {
  readonly questions: Record<Transport, number>
  /** By response code. */
  readonly responses: number[]
  readonly refusals: Map<RefusalReason, number>
  /** Seconds from the reading of a question to its response; without refusals. */
  readonly durations: Readonly<Record<NameDomain, CountedHistogram>>
  /** Responses that were truncated, because the datagram was too short for all answers. */
  truncated: number
  /** Responses that were truncated because the client had had its share of long datagrams for now; it may ask again over TCP. */
  limited: number
  readonly forwarding: ForwardingStatistics
  /** Messages that got no answer because of a bug. */
  failures: number
  /** TCP connections that were opened, and those that the server closed because there were too many. */
  connections: number
  refusedConnections: number
}

/** The size of `responses`: codes of four bits, and the extended ones 16 to 23 of EDNS (RFC 6895), of which 16 (BADVERS) is used. */
const RCODES = 24

/** Statistics of a server that has not been queried yet. */
export function createStatistics(): Statistics {
  return {
    questions: { udp: 0, tcp: 0 },
    responses: Array.from({ length: RCODES }, () => 0),
    refusals: new Map(),
    durations: {
      cluster: new CountedHistogram(DURATION_BOUNDS),
      other: new CountedHistogram(DURATION_BOUNDS),
    },
    truncated: 0,
    limited: 0,
    failures: 0,
    connections: 0,
    refusedConnections: 0,
    forwarding: createForwardingStatistics(),
  }
}

export function countRefusal({ refusals }: Statistics, reason: RefusalReason): void {
  refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
}

/** Statistics of a forwarder without questions so far. */
function createForwardingStatistics(): ForwardingStatistics {
  return { results: new Map(), attempts: new Map(), discarded: new Map(), evicted: 0 }
}

/** Counts what a forwarder reports. */
export function forwardObserver(
  statistics: ForwardingStatistics,
): Omit<ForwardObserver, 'upstreamChanged'> {
  const { results, attempts, discarded } = statistics
  return {
    queried: (result) => increment(results, result),
    attempted: ({ upstream, result }) => increment(attempts, `${upstreamName(upstream)} ${result}`),
    discarded: (upstream, reason) => increment(discarded, `${upstreamName(upstream)} ${reason}`),
    evicted: () => {
      statistics.evicted += 1
    },
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
