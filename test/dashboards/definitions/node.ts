import type { DashboardSpec, RowSpec } from './dashboard.ts'
import { traffic } from './node-traffic.ts'
import { INSTANCE as I, orZero, quantileBy, rateBy } from './queries.ts'

const PRESENT = `nodeproxy_build_info{${I}}`
const PROCESS = `job="node-proxy",${I}`

const now: RowSpec = {
  title: 'Now',
  panels: [
    {
      title: 'Kernel behind by',
      kind: 'stat',
      answers:
        'How long the oldest change has waited that the kernel of the node does not hold yet.',
      remedy:
        'Red, and growing: no change gets through. `/readyz` of the node and its log have the cause, errors.md the remedy for each code.',
      unit: 's',
      red: { from: 60 },
      queries: [
        {
          expr: `max by (instance) (nodeproxy_oldest_pending_change_age_seconds{${I}})`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#whether-a-node-is-well',
    },
    {
      title: 'Follows the cluster',
      kind: 'stat',
      answers: 'Whether every watch of the API server is open.',
      remedy:
        'Red: the rules stay, but endpoints that come and go are no longer followed. The panel "Failures of requests" has the reason.',
      unit: 'none',
      red: { below: 1 },
      names: { 0: 'no', 1: 'yes' },
      queries: [
        { expr: `min by (instance) (nodeproxy_watch_connected{${I}})`, legend: '{{instance}}' },
      ],
      page: 'operate/troubleshooting.md#when-the-api-server-fails',
    },
    {
      title: 'Conditions',
      kind: 'stat',
      answers: 'How many conditions hold that an operator should know about.',
      remedy: 'Red: `/readyz` lists them with their remedies.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: orZero(`sum by (instance) (nodeproxy_conditions{${I}})`, PRESENT),
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#conditions',
    },
    {
      title: 'Service ports not served',
      kind: 'stat',
      answers:
        'How many ports of Services are not in the kernel, because another Service has the same address or the kernel refuses them.',
      remedy: 'Red: `node-proxy entries` names them with the reason.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: orZero(
            `sum by (instance) (nodeproxy_entries{${I},status=~"Conflict|Error"})`,
            PRESENT,
          ),
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#service-not-reachable',
    },
    {
      title: 'Credential to be renewed in',
      kind: 'stat',
      answers:
        'How much time there is until the credential for the API server should have been renewed.',
      remedy:
        'Red: its renewal is late; `/readyz` and the log name the cause. Once it has expired the node no longer follows the cluster.',
      unit: 's',
      red: { below: 0 },
      empty: 'it does not expire',
      queries: [
        {
          expr: `min by (instance) (nodeproxy_client_credential_late_timestamp_seconds{${I}}) - time()`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/install.md#the-token-of-a-kubeconfig',
    },
    {
      title: 'Mode',
      kind: 'stat',
      answers: 'How the kernel of the node forwards.',
      remedy:
        'Another mode than the configuration names: the kernel cannot do that one, and the log says what it lacks.',
      unit: 'none',
      showsNames: true,
      queries: [{ expr: `nodeproxy_mode_info{${I}}`, legend: '{{instance}}: {{mode}}' }],
      page: 'operate/configuration.md',
    },
  ],
}

const programming: RowSpec = {
  title: 'From a change to the kernel',
  panels: [
    {
      title: 'Programming latency',
      kind: 'lines',
      answers:
        'How long changes of endpoints take until they are rules, from the time that the API server wrote: the half that is faster, and 99 of 100.',
      remedy:
        'Red: compare with the duration of a run. Where that is short, the delay is before the proxy, in controllers or the API server.',
      unit: 's',
      red: { from: 5 },
      queries: [
        {
          expr: `cluster_instance_quantile:nodeproxy_network_programming_duration_seconds:histogram_quantile{${I}}`,
          legend: '{{instance}} {{quantile}}',
        },
      ],
      page: 'operate/dashboards.md#objectives',
    },
    {
      title: 'Duration of a run',
      kind: 'lines',
      answers:
        'How long the proxy takes to compare, write and confirm a batch of changes; 99 of 100 runs are shorter.',
      remedy:
        'Red: the kernel is slow, in iptables mode because of many rules. nftables mode does not grow with the cluster.',
      unit: 's',
      red: { from: 2 },
      queries: [
        {
          expr: quantileBy(
            0.99,
            'instance',
            `nodeproxy_sync_proxy_rules_duration_seconds_bucket{${I}}`,
          ),
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#rules-too-many-slow',
    },
    {
      title: 'Changes',
      kind: 'lines',
      answers: 'How many changes of Services and endpoints reach the node each second.',
      remedy:
        'A lasting flood has its source in the cluster: endpoints that fail their probes again and again, or a controller that writes without end.',
      unit: 'ops',
      queries: [
        {
          expr: rateBy('instance', `nodeproxy_sync_proxy_rules_endpoint_changes_total{${I}}`),
          legend: '{{instance}} endpoints',
        },
        {
          expr: rateBy('instance', `nodeproxy_sync_proxy_rules_service_changes_total{${I}}`),
          legend: '{{instance}} Services',
        },
      ],
      page: 'operate/troubleshooting.md#whether-a-node-is-well',
    },
    {
      title: 'Changes that wait',
      kind: 'lines',
      answers: 'How many changes the kernel does not hold yet.',
      remedy:
        'It is 0 between batches. Where it stays above, look at "Kernel behind by" and at "Refused by the kernel".',
      unit: 'none',
      queries: [
        {
          expr: `nodeproxy_sync_proxy_rules_endpoint_changes_pending{${I}} + nodeproxy_sync_proxy_rules_service_changes_pending{${I}}`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#whether-a-node-is-well',
    },
    {
      title: 'Refused by the kernel',
      kind: 'lines',
      answers: 'How often the kernel refuses objects each second, by error code.',
      remedy:
        'Above 0: the log has the object and the code, errors.md the remedy. Other Services are not affected.',
      unit: 'ops',
      queries: [
        {
          expr: orZero(rateBy('instance, code', `nodeproxy_apply_failures_total{${I}}`), PRESENT),
          legend: '{{instance}} {{code}}',
        },
      ],
      page: 'errors.md',
    },
    {
      title: 'Repairs',
      kind: 'lines',
      answers:
        'How many objects other software removed, altered or added, and node-proxy repaired, each second.',
      remedy:
        'Again and again: two programs work against each other. The log names the objects; configure the other program to leave them alone.',
      unit: 'ops',
      queries: [
        {
          expr: orZero(
            rateBy('instance, object, cause', `nodeproxy_drift_repairs_total{${I}}`),
            PRESENT,
          ),
          legend: '{{instance}} {{object}} {{cause}}',
        },
      ],
      page: 'operate/install.md#beside-other-software',
    },
    {
      title: 'Objects in the kernel',
      kind: 'lines',
      answers: 'How many chains, maps, sets or virtual servers the proxy keeps.',
      remedy:
        'It follows the Services and endpoints of the cluster. Without a change there, look at "Repairs".',
      unit: 'none',
      queries: [
        {
          expr: `sum by (instance, kind) (nodeproxy_programmed_objects{${I}})`,
          legend: '{{instance}} {{kind}}',
        },
      ],
      page: 'operate/README.md#what-it-does-to-a-node',
    },
    {
      title: 'Flows that were ended',
      kind: 'lines',
      answers:
        'How many entries of connection tracking are deleted each second, because their backend is gone.',
      remedy:
        'These are UDP and SCTP flows of Pods that ended, and TCP connections that such Pods never answered. Many without a rollout: Pods that fail their probes.',
      unit: 'ops',
      queries: [
        {
          expr: orZero(
            rateBy('instance', `nodeproxy_conntrack_reconciler_deleted_entries_total{${I}}`),
            PRESENT,
          ),
          legend: '{{instance}}',
        },
      ],
      page: 'operate/README.md#what-it-does-to-a-node',
    },
  ],
}

const api: RowSpec = {
  title: 'The API server, as the node sees it',
  panels: [
    {
      title: 'Failures of requests',
      kind: 'lines',
      answers: 'How many requests to the API server fail each second, by reason.',
      remedy: 'Above 0 for more than a minute: the page has each reason with its remedy.',
      unit: 'ops',
      queries: [
        {
          expr: orZero(rateBy('instance, reason', `nodeproxy_api_failures_total{${I}}`), PRESENT),
          legend: '{{instance}} {{reason}}',
        },
      ],
      page: 'operate/troubleshooting.md#when-the-api-server-fails',
    },
    {
      title: 'Age of what is known',
      kind: 'lines',
      answers:
        'How long ago the API server last sent anything about a resource: an event, a bookmark or a list.',
      remedy:
        'Bookmarks come every minute. Red: the connection is open and silent; the proxy opens it anew by itself.',
      unit: 's',
      red: { from: 300 },
      queries: [
        {
          expr: `time() - min by (instance, resource) (nodeproxy_watch_last_event_timestamp_seconds{${I}})`,
          legend: '{{instance}} {{resource}}',
        },
      ],
      page: 'operate/troubleshooting.md#the-api-server-accepts-connections-and-never-answers',
    },
  ],
}

const program: RowSpec = {
  title: 'The program',
  panels: [
    {
      title: 'Processor',
      kind: 'lines',
      answers: 'What share of one processor node-proxy uses.',
      remedy: 'It follows "Changes". High without changes: report it, with the log.',
      unit: 'percentunit',
      queries: [
        {
          expr: `rate(process_cpu_seconds_total{${PROCESS}}[$__rate_interval])`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#report-a-bug',
    },
    {
      title: 'Memory',
      kind: 'lines',
      answers: 'How much memory node-proxy holds.',
      remedy: 'The page has what a cluster of a size needs, for the limit of the DaemonSet.',
      unit: 'bytes',
      queries: [{ expr: `process_resident_memory_bytes{${PROCESS}}`, legend: '{{instance}}' }],
      page: 'operate/install.md#memory',
    },
    {
      title: 'Lateness of timers',
      kind: 'lines',
      answers: 'How late timers of the program fire; 99 of 100 are less late.',
      remedy:
        'Red: the node has no processor time for the proxy. Give it more, or less to the other programs.',
      unit: 's',
      red: { from: 0.5 },
      queries: [
        {
          expr: quantileBy(0.99, 'instance', `nodeproxy_event_loop_delay_seconds_bucket{${I}}`),
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#rules-too-many-slow',
    },
  ],
}

export const node: DashboardSpec = {
  name: 'node',
  title: 'node-proxy: node',
  about:
    'Whether the kernel of a node holds what the cluster wants, how fast it gets there, and what the node forwards.',
  variables: [
    {
      name: 'instance',
      label: 'Node',
      query: 'label_values(nodeproxy_build_info{cluster=~"$cluster"}, instance)',
    },
  ],
  rows: [now, programming, traffic, api, program],
}
