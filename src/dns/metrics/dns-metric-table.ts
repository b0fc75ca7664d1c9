import { credentialMetrics } from '../../telemetry/metrics/cluster-metrics.ts'
import type { MetricDefinition } from '../../telemetry/metrics/definition.ts'
import { DURATION_BOUNDS } from '../server/statistics.ts'

/** Every metric of a DNS server, once. */
export const DNS_METRICS = {
  questions: {
    name: 'questions_total',
    type: 'counter',
    labels: ['transport'],
    help: 'Messages that arrived, by transport: udp or tcp.',
  },
  responses: {
    name: 'responses_total',
    type: 'counter',
    labels: ['rcode'],
    help: 'Responses, by their code; CoreDNS and resolvers use the same names, such as NOERROR and NXDOMAIN.',
  },
  refusals: {
    name: 'refusals_total',
    type: 'counter',
    labels: ['reason'],
    help: 'Messages that were no question to answer: malformed ones (short, response, opcode, counts, name, additional), versions, classes and transfers that are not served, clients of other networks (network), names of other domains without an upstream (no-upstream), questions while too many wait (overload) and before all names are known (not-ready).',
  },
  truncated: {
    name: 'truncated_responses_total',
    type: 'counter',
    labels: [],
    help: 'Responses in datagrams that were too short for all answers; such clients query again over TCP.',
  },
  limited: {
    name: 'limited_responses_total',
    type: 'counter',
    labels: [],
    help: 'Responses that were truncated, because the client had got too many bytes in long datagrams within a second.',
  },
  forwarded: {
    name: 'forwarded_questions_total',
    type: 'counter',
    labels: ['result'],
    help: 'Questions for names of other domains, by where the answer came from (upstream, cache, stale: an expired one, because no upstream answers) or why there is none (unanswered, overloaded, unsupported, closed).',
  },
  upstreamQueries: {
    name: 'upstream_queries_total',
    type: 'counter',
    labels: ['upstream', 'result'],
    help: 'Queries to other servers, by result; after any result but answered the next server is queried.',
  },
  upstreamDiscarded: {
    name: 'upstream_discarded_messages_total',
    type: 'counter',
    labels: ['upstream', 'reason'],
    help: 'Messages from the address of another server that are no reply to a query: forged, late or damaged ones.',
  },
  cacheEvictions: {
    name: 'forward_cache_evictions_total',
    type: 'counter',
    labels: [],
    help: 'Answers that left the cache because it was full.',
  },
  failures: {
    name: 'failures_total',
    type: 'counter',
    labels: [],
    help: 'Messages without an answer because of a bug in this program; the log has the error.',
  },
  connections: {
    name: 'tcp_connections_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Connections over TCP: accepted, or refused because of their number or network.',
  },
  services: {
    name: 'services',
    type: 'gauge',
    labels: [],
    help: 'Services that have names.',
  },
  synced: {
    name: 'names_known',
    type: 'gauge',
    labels: [],
    help: '1 once all Services and endpoints were listed; before, every question fails.',
  },
  ...credentialMetrics,
  duration: {
    name: 'request_duration_seconds',
    type: 'histogram',
    labels: ['domain'],
    buckets: DURATION_BOUNDS,
    help: 'From the reading of a question to its response, without refusals; domain: cluster (names of Services and endpoints) or other (names that other servers answer, or the cache of their answers).',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
