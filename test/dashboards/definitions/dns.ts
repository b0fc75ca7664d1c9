import type { DashboardSpec, RowSpec } from './dashboard.ts'
import { budgetPanel, burnRatePanel } from './objectives.ts'
import { INSTANCE as I } from './queries.ts'

/** A gauge or counter of orch-dns, or the same of orch-server's DNS. */
function either(metric: string): string {
  return `(orchdns_${metric}{${I}} or orchserver_dns_${metric}{${I}})`
}

/** The increase of a counter each second, by labels, for what no recording rule has. */
function rateOfEither(labels: string, metric: string): string {
  const of = (prefix: string) => `rate(${prefix}${metric}{${I}}[$__rate_interval])`
  return `sum by (${labels}) (${of('orchdns_')} or ${of('orchserver_dns_')})`
}

const KNOWN = either('names_known')

const now: RowSpec = {
  title: 'Now',
  panels: [
    {
      title: 'Names known',
      kind: 'stat',
      answers: 'Whether each server has listed all Services and endpoints.',
      remedy: 'Red: it fails every question. Its log says what the API server answers.',
      unit: 'none',
      red: { below: 1 },
      names: { 0: 'no', 1: 'yes' },
      queries: [{ expr: `min by (instance) ${KNOWN}`, legend: '{{instance}}' }],
      page: 'operate/dns.md#while-the-api-server-is-away',
    },
    {
      title: 'Services with names',
      kind: 'stat',
      answers: 'How many Services have names.',
      remedy:
        'Fewer than `orchctl get services --all-namespaces` lists: the log names those whose names are missing or incomplete.',
      unit: 'none',
      queries: [{ expr: `max by (instance) ${either('services')}`, legend: '{{instance}}' }],
      page: 'operate/dns.md#what-is-answered',
    },
    budgetPanel('dns-.+'),
    {
      title: 'Answers lost to bugs',
      kind: 'stat',
      answers: 'How many messages got no answer within a day because of an error in the program.',
      remedy: 'Red: report it; the log has the error.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: `sum by (instance) (increase(orchdns_failures_total{${I}}[1d]) or increase(orchserver_dns_failures_total{${I}}[1d]))`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#report-a-bug',
    },
  ],
}

const questions: RowSpec = {
  title: 'Questions and answers',
  panels: [
    {
      title: 'Latency',
      kind: 'lines',
      answers:
        'How long answers take, of names of the cluster and of other names: the half that is faster, and 99 of 100.',
      remedy:
        'cluster: the server has no processor time, see "Processor". other: upstreams are slow, see "Queries to upstreams".',
      unit: 's',
      red: { from: 0.5 },
      queries: [
        {
          expr: `cluster_instance_domain_quantile:dns_request_duration_seconds:histogram_quantile{${I}}`,
          legend: '{{instance}} {{domain}} {{quantile}}',
        },
      ],
      page: 'operate/dns.md#other-names',
    },
    burnRatePanel('dns-.+'),
    {
      title: 'Questions',
      kind: 'lines',
      answers: 'How many messages arrive each second, over UDP and TCP.',
      remedy: 'A rise over TCP: answers are too long for datagrams, see "Truncated responses".',
      unit: 'reqps',
      queries: [
        {
          expr: `cluster_instance_transport:dns_questions:rate5m{${I}}`,
          legend: '{{instance}} {{transport}}',
        },
      ],
      page: 'operate/dns.md#what-is-answered',
    },
    {
      title: 'Responses by code',
      kind: 'lines',
      answers:
        'How questions are answered. NXDOMAIN is usual: clients try each domain of their search list.',
      remedy:
        'SERVFAIL: names are not known yet, or upstreams do not answer. REFUSED: see "Refusals".',
      unit: 'reqps',
      queries: [
        {
          expr: `cluster_instance_rcode:dns_responses:rate5m{${I}}`,
          legend: '{{instance}} {{rcode}}',
        },
      ],
      page: 'operate/troubleshooting.md#dns-resolution-fails',
    },
    {
      title: 'Refusals',
      kind: 'lines',
      answers: 'How many messages are refused each second, by reason.',
      remedy:
        'network: a network of Pods or nodes is missing in `dns.clientNetworks`. overload: upstreams are slow. no-upstream: no server is set for names of other domains.',
      unit: 'reqps',
      queries: [
        {
          expr: `cluster_instance_reason:dns_refusals:rate5m{${I}} or 0 * sum by (instance) ${KNOWN}`,
          legend: '{{instance}} {{reason}}',
        },
      ],
      page: 'operate/dns.md#who-is-answered',
    },
    {
      title: 'Truncated responses',
      kind: 'lines',
      answers:
        'How many responses in datagrams are cut, so that clients ask again over TCP: too short for the answers, or the client got too much.',
      remedy: 'The second: raise `dns.amplifiedBytesPerSecond` where the client is one of yours.',
      unit: 'reqps',
      queries: [
        {
          expr: rateOfEither('instance', 'truncated_responses_total'),
          legend: '{{instance}} too long',
        },
        {
          expr: rateOfEither('instance', 'limited_responses_total'),
          legend: '{{instance}} client over its limit',
        },
      ],
      page: 'operate/dns.md#who-is-answered',
    },
    {
      title: 'Connections over TCP',
      kind: 'lines',
      answers: 'How many connections are accepted and refused each second.',
      remedy:
        'refused: more than 200 of one client or 2,000 of all, or a client of another network.',
      unit: 'cps',
      queries: [
        {
          expr: rateOfEither('instance, outcome', 'tcp_connections_total'),
          legend: '{{instance}} {{outcome}}',
        },
      ],
      page: 'operate/dns.md#who-is-answered',
    },
  ],
}

const upstreams: RowSpec = {
  title: 'Names of other domains',
  panels: [
    {
      title: 'Where answers come from',
      kind: 'lines',
      answers:
        'How many questions upstreams and the cache answer each second, and how many have no answer.',
      remedy: 'stale or unanswered: no upstream answers; the log and `/readyz` name them.',
      unit: 'reqps',
      empty: 'no server is set for names of other domains',
      queries: [
        {
          expr: `cluster_instance_result:dns_forwarded_questions:rate5m{${I}}`,
          legend: '{{instance}} {{result}}',
        },
      ],
      page: 'operate/dns.md#other-names',
    },
    {
      title: 'Queries to upstreams',
      kind: 'lines',
      answers: 'What comes of queries to each upstream.',
      remedy:
        'Anything but answered: the next upstream is queried. `orchctl doctor --dns-server` examines them.',
      unit: 'reqps',
      empty: 'no server is set for names of other domains',
      queries: [
        {
          expr: `cluster_instance_upstream_result:dns_upstream_queries:rate5m{${I}}`,
          legend: '{{instance}} → {{upstream}} {{result}}',
        },
      ],
      page: 'operate/dns.md#other-names',
    },
    {
      title: 'Messages that are no replies',
      kind: 'lines',
      answers:
        'How many messages from addresses of upstreams are discarded each second: forged, late or damaged ones.',
      remedy:
        'Many with the reason id: a sender guesses the ids of queries. Query upstreams over a network that you trust.',
      unit: 'reqps',
      queries: [
        {
          expr: `${rateOfEither('instance, upstream, reason', 'upstream_discarded_messages_total')} or 0 * sum by (instance) ${KNOWN}`,
          legend: '{{instance}} {{upstream}} {{reason}}',
        },
      ],
      page: 'operate/dns.md#other-names',
    },
    {
      title: 'Answers that left a full cache',
      kind: 'lines',
      answers: 'How many answers are removed before their time each second.',
      remedy:
        'Above 0: more names are asked for than the cache holds; upstreams get more queries, nothing fails.',
      unit: 'ops',
      queries: [
        { expr: rateOfEither('instance', 'forward_cache_evictions_total'), legend: '{{instance}}' },
      ],
      page: 'operate/dns.md#other-names',
    },
  ],
}

const program: RowSpec = {
  title: 'orch-dns as a program',
  panels: [
    {
      title: 'Processor',
      kind: 'lines',
      answers:
        'What share of one processor orch-dns uses. The DNS of orch-server is a part of that program.',
      remedy: 'Near 1: add a server behind the Service; clients are spread.',
      unit: 'percentunit',
      empty: 'no orch-dns runs as a program of its own',
      queries: [
        {
          expr: `rate(process_cpu_seconds_total{job="orch-dns",${I}}[$__rate_interval])`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/dns.md#run-it',
    },
    {
      title: 'Memory',
      kind: 'lines',
      answers: 'How much memory orch-dns holds.',
      remedy: 'It follows the number of Services and endpoints. Growing without them: report it.',
      unit: 'bytes',
      empty: 'no orch-dns runs as a program of its own',
      queries: [
        { expr: `process_resident_memory_bytes{job="orch-dns",${I}}`, legend: '{{instance}}' },
      ],
      page: 'operate/troubleshooting.md#report-a-bug',
    },
  ],
}

export const dns: DashboardSpec = {
  name: 'dns',
  title: 'node-proxy: DNS',
  about:
    'Whether names of Services resolve, how fast, who is refused, and whether the servers of other names answer.',
  variables: [
    {
      name: 'instance',
      label: 'Server',
      query:
        'label_values({__name__=~"orchdns_names_known|orchserver_dns_names_known",cluster=~"$cluster"}, instance)',
    },
  ],
  rows: [now, questions, upstreams, program],
}
