import type { MetricDefinition } from '../../telemetry/metrics/definition.ts'

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
    help: 'Responses that were cut, because the client had got too many bytes in long datagrams within a second.',
  },
  forwarded: {
    name: 'forwarded_questions_total',
    type: 'counter',
    labels: [],
    help: 'Questions for names of other domains, whether the cache or another server answered them.',
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
} as const satisfies Readonly<Record<string, MetricDefinition>>
