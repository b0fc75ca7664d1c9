import { controllers } from './api-server-controllers.ts'
import type { DashboardSpec, RowSpec } from './dashboard.ts'
import { budgetPanel, burnRatePanel } from './objectives.ts'
import { INSTANCE as I, orZero, quantileBy, rateBy } from './queries.ts'

const PRESENT = `apiserver_cache_lag_revisions{${I}}`
const PROCESS = `job="orch-server",${I}`

const now: RowSpec = {
  title: 'Now',
  panels: [
    {
      title: 'Answers',
      kind: 'stat',
      answers: 'Whether each server can be scraped.',
      remedy:
        'Red: nothing can be changed, and endpoints no longer follow their Pods. Nodes go on forwarding what they know.',
      unit: 'none',
      red: { below: 1 },
      names: { 0: 'no', 1: 'yes' },
      queries: [{ expr: `up{${PROCESS}}`, legend: '{{instance}}' }],
      page: 'operate/orch-server.md#what-breaks',
    },
    budgetPanel('api-.+'),
    {
      title: 'Conditions',
      kind: 'stat',
      answers: 'How many conditions hold that an operator should know about.',
      remedy: 'Red: `/healthz` and `/readyz` list them; the page has each with its remedy.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: orZero(`sum by (instance) (apiserver_conditions{${I}})`, PRESENT),
          legend: '{{instance}}',
        },
      ],
      page: 'operate/orch-server.md#health-metrics-alarms',
    },
    {
      title: 'Objects that cannot be read',
      kind: 'stat',
      answers: 'How many stored objects cannot be read, and are not served.',
      remedy:
        'Red: `orch-server check` names all damage. Delete them by name and create them anew, or restore a backup.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: `sum by (instance) (apiserver_storage_unreadable_objects{${I}})`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/orch-server.md#damage',
    },
    {
      title: 'Certificate ends in',
      kind: 'stat',
      answers: 'How long the serving certificate is valid.',
      remedy:
        'Red: one that you gave has to be renewed; one that orch-server makes is renewed long before, unless the log has the reason.',
      unit: 's',
      red: { below: 14 * 86_400 },
      queries: [
        {
          expr: `orchserver_certificate_expiration_timestamp_seconds{${I}} - time()`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/orch-server.md#certificates',
    },
    {
      title: 'Open files',
      kind: 'stat',
      answers: 'Which share of the files that the process may open is open. Every watch is one.',
      remedy: 'Red: raise LimitNOFILE=, or find the client that opens so many.',
      unit: 'percentunit',
      red: { from: 0.8 },
      queries: [
        {
          expr: `process_open_fds{${PROCESS}} / process_max_fds{${PROCESS}}`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
  ],
}

const requests: RowSpec = {
  title: 'Requests',
  panels: [
    {
      title: 'Latency by verb',
      kind: 'lines',
      answers: 'How long requests take, watches aside: the half that is faster, and 99 of 100.',
      remedy:
        'Red: look at the latency of the store, then at "The slowest resources" and "Requests that are served and wait".',
      unit: 's',
      red: { from: 1.024 },
      queries: [
        {
          expr: `cluster_instance_verb_quantile:apiserver_request_duration_seconds:histogram_quantile{${I}}`,
          legend: '{{instance}} {{verb}} {{quantile}}',
        },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
    burnRatePanel('api-.+'),
    {
      title: 'Requests by verb',
      kind: 'lines',
      answers: 'How many requests are answered each second.',
      remedy: 'The audit log has who sends them.',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (instance, verb) (cluster_instance_verb_code:apiserver_request:rate5m{${I}})`,
          legend: '{{instance}} {{verb}}',
        },
      ],
      page: 'operate/audit.md#reading-it',
    },
    {
      title: 'Errors by code',
      kind: 'lines',
      answers: 'How many requests are answered with an error each second. 404 and 409 are usual.',
      remedy:
        '5xx: the log has the error. 401 and 403: the page has why a request is refused. 429: see "Rejected requests".',
      unit: 'reqps',
      queries: [
        {
          expr: orZero(
            `sum by (instance, code) (cluster_instance_verb_code:apiserver_request:rate5m{${I},code=~"[45].."})`,
            PRESENT,
          ),
          legend: '{{instance}} {{code}}',
        },
      ],
      page: 'operate/security.md#a-request-is-refused',
    },
    {
      title: 'The slowest resources',
      kind: 'lines',
      answers:
        'Which resources and verbs take longest, by the latency that 99 of 100 requests keep.',
      remedy: 'LIST of many objects: let the client use limits, or a watch from a cache.',
      unit: 's',
      queries: [
        {
          expr: `topk(10, ${quantileBy(0.99, 'verb, resource', `apiserver_request_duration_seconds_bucket{${I}}`)})`,
          legend: '{{verb}} {{resource}}',
        },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
    {
      title: 'Requests that are served and wait',
      kind: 'lines',
      answers: 'How many requests are being served, and how many wait until others are answered.',
      remedy: 'Waiting ones for minutes: too many at once. The audit log has the clients.',
      unit: 'none',
      queries: [
        {
          expr: `apiserver_current_inflight_requests{${I}}`,
          legend: '{{instance}} {{request_kind}} served',
        },
        {
          expr: `apiserver_current_inqueue_requests{${I}}`,
          legend: '{{instance}} {{request_kind}} waiting',
        },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
    {
      title: 'Rejected requests',
      kind: 'lines',
      answers: 'How many requests are answered 429 each second, because too many wait.',
      remedy:
        'Of the level system the cluster itself waits: find the client that floods it in the audit log.',
      unit: 'reqps',
      queries: [
        {
          expr: orZero(
            rateBy(
              'instance, priority_level, reason',
              `apiserver_flowcontrol_rejected_requests_total{${I}}`,
            ),
            PRESENT,
          ),
          legend: '{{instance}} {{priority_level}} {{reason}}',
        },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
    {
      title: 'Watches',
      kind: 'lines',
      answers: 'How many watches are open.',
      remedy:
        'Each node-proxy has a few, and so has each other client. A sudden fall: clients lost their connections and list all again.',
      unit: 'none',
      queries: [{ expr: `apiserver_longrunning_requests{${I}}`, legend: '{{instance}} {{verb}}' }],
      page: 'operate/orch-server.md#size-and-load',
    },
    {
      title: 'Tokens by key',
      kind: 'lines',
      answers: 'With which signing key the tokens of accounts were made that clients send.',
      remedy: 'A key whose line is 0 for longer than a token lives can be removed.',
      unit: 'reqps',
      queries: [
        {
          expr: rateBy('instance, key_id', `apiserver_account_token_requests_total{${I}}`),
          legend: '{{instance}} {{key_id}}',
        },
      ],
      page: 'operate/security.md#replace-the-key-of-account-tokens',
    },
  ],
}

const store: RowSpec = {
  title: 'Store and caches',
  panels: [
    {
      title: 'Latency of the store',
      kind: 'lines',
      answers: 'How long the store takes to read and to commit; 99 of 100 are faster.',
      remedy: 'Red: a slow disk, or a slow etcd.',
      unit: 's',
      red: { from: 0.1 },
      queries: [
        {
          expr: quantileBy(
            0.99,
            'instance, operation',
            `apiserver_store_request_duration_seconds_bucket{${I}}`,
          ),
          legend: '{{instance}} {{operation}}',
        },
      ],
      page: 'operate/orch-server.md#on-etcd',
    },
    {
      title: 'Failures of the store',
      kind: 'lines',
      answers: 'How often the store fails each second.',
      remedy: 'Above 0: the disk is full, or etcd is away; the log has the code.',
      unit: 'ops',
      queries: [
        {
          expr: orZero(
            rateBy(
              'instance, operation',
              `apiserver_store_request_duration_seconds_count{${I},result="failed"}`,
            ),
            PRESENT,
          ),
          legend: '{{instance}} {{operation}}',
        },
      ],
      page: 'operate/orch-server.md#what-breaks',
    },
    {
      title: 'Caches behind the store',
      kind: 'lines',
      answers: 'How many revisions the caches are behind the store.',
      remedy: 'Above 0 for a minute: reads wait, and watches are late.',
      unit: 'none',
      queries: [{ expr: `apiserver_cache_lag_revisions{${I}}`, legend: '{{instance}}' }],
      page: 'operate/orch-server.md#size-and-load',
    },
    {
      title: 'Objects',
      kind: 'lines',
      answers: 'Of which resources there are most objects.',
      remedy:
        'Growing without end: a client that creates and never deletes. Events end by themselves after an hour.',
      unit: 'none',
      queries: [
        {
          expr: `topk(10, max by (cluster, resource) (apiserver_storage_objects{${I}}))`,
          legend: '{{cluster}} {{resource}}',
        },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
    {
      title: 'Addresses and ports that disagreed',
      kind: 'lines',
      answers:
        'How many ClusterIPs and node ports were held otherwise than Services say, within an hour.',
      remedy: 'duplicate and outOfRange are not healed: an Event at the Service names it.',
      unit: 'none',
      queries: [
        {
          expr: orZero(
            `sum by (instance, type) (increase(apiserver_clusterip_repair_ip_errors_total{${I}}[1h]))`,
            PRESENT,
          ),
          legend: '{{instance}} address {{type}}',
        },
        {
          expr: orZero(
            `sum by (instance, type) (increase(apiserver_nodeport_repair_port_errors_total{${I}}[1h]))`,
            PRESENT,
          ),
          legend: '{{instance}} port {{type}}',
        },
      ],
      page: 'operate/orch-server.md#change-the-ranges',
    },
  ],
}

const program: RowSpec = {
  title: 'The program',
  panels: [
    {
      title: 'Processor',
      kind: 'lines',
      answers: 'What share of one processor orch-server uses.',
      remedy: 'Near 1: find the client in "Requests by verb" and in the audit log.',
      unit: 'percentunit',
      queries: [
        {
          expr: `rate(process_cpu_seconds_total{${PROCESS}}[$__rate_interval])`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
    {
      title: 'Memory',
      kind: 'lines',
      answers: 'How much memory orch-server holds, and how much of it is its heap.',
      remedy: 'It follows "Objects" and "Watches"; the page has numbers.',
      unit: 'bytes',
      queries: [
        { expr: `process_resident_memory_bytes{${PROCESS}}`, legend: '{{instance}}' },
        { expr: `nodejs_heap_size_used_bytes{${PROCESS}}`, legend: '{{instance}} heap' },
      ],
      page: 'operate/orch-server.md#size-and-load',
    },
  ],
}

export const apiServer: DashboardSpec = {
  name: 'api-server',
  title: 'node-proxy: API server',
  about:
    'Whether orch-server answers, how fast, with which errors, and whether its store and its controllers keep up.',
  variables: [
    {
      name: 'instance',
      label: 'Server',
      query: 'label_values(apiserver_cache_lag_revisions{cluster=~"$cluster"}, instance)',
    },
  ],
  rows: [now, requests, store, controllers, program],
}
