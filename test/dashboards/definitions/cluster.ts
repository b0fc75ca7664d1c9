import type { DashboardSpec, RowSpec } from './dashboard.ts'
import { budgetPanel, burnRatePanel } from './objectives.ts'
import { CLUSTER as C, rateBy } from './queries.ts'

const now: RowSpec = {
  title: 'Now',
  panels: [
    {
      title: 'Nodes that do not answer',
      kind: 'stat',
      answers: 'On how many nodes node-proxy cannot be scraped.',
      remedy:
        'Red: their rules stay and forward, but follow no change. Look at the Pod or the unit of node-proxy there.',
      unit: 'none',
      red: { from: 1 },
      queries: [{ expr: `count(up{job="node-proxy",${C}} == 0) or vector(0)`, legend: 'nodes' }],
      page: 'operate/troubleshooting.md#whether-a-node-is-well',
    },
    {
      title: 'Nodes that are behind',
      kind: 'stat',
      answers: 'On how many nodes a change has waited for the kernel for more than a minute.',
      remedy: 'Red: the dashboard of a node shows which, and what its kernel refuses.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: `count(max by (cluster, instance) (nodeproxy_oldest_pending_change_age_seconds{${C}}) > 60) or vector(0)`,
          legend: 'nodes',
        },
      ],
      page: 'operate/troubleshooting.md#whether-a-node-is-well',
    },
    {
      title: 'Nodes without the API server',
      kind: 'stat',
      answers: 'How many nodes do not follow a resource of the API server.',
      remedy: 'All at once: the API server is away. Some: their network or their credential.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: `count(min by (cluster, instance) (nodeproxy_watch_connected{${C}}) == 0) or vector(0)`,
          legend: 'nodes',
        },
      ],
      page: 'operate/troubleshooting.md#when-the-api-server-fails',
    },
    {
      title: 'Objects that are refused',
      kind: 'stat',
      answers:
        'How many Services, EndpointSlices or nodes are invalid, so that nodes pass them over.',
      remedy: 'Red: an Event at the object and the log of each node name the field and the remedy.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: `sum(max by (cluster, resource) (nodeproxy_rejected_objects{${C}})) or vector(0)`,
          legend: 'objects',
        },
      ],
      page: 'errors.md',
    },
    {
      title: 'Alerts that fire',
      kind: 'stat',
      answers: 'How many alerts of config/prometheus fire.',
      remedy: 'Red: each names the object, the cause and the remedy.',
      unit: 'none',
      red: { from: 1 },
      queries: [
        {
          expr: `count(ALERTS{alertstate="firing",alertname=~"(NodeProxy|OrchServer|OrchDns|ErrorBudget).*",${C}}) or vector(0)`,
          legend: 'alerts',
        },
      ],
      page: 'operate/README.md',
    },
    {
      title: 'Modes',
      kind: 'stat',
      answers: 'On how many nodes each mode is at work.',
      remedy:
        'Another mode than the configuration names: the log of the node says what its kernel cannot do.',
      unit: 'none',
      queries: [{ expr: `count by (mode) (nodeproxy_mode_info{${C}})`, legend: '{{mode}}' }],
      page: 'operate/configuration.md',
    },
  ],
}

const objectives: RowSpec = {
  title: 'Objectives',
  panels: [
    budgetPanel('.+'),
    burnRatePanel('.+'),
    {
      title: 'Programming latency of the cluster',
      kind: 'lines',
      answers:
        'How long changes of endpoints take until they are rules, over all nodes: the half that is faster, and 99 of 100.',
      remedy:
        'Red: the panel beside shows whether all nodes are slow (controllers, API server) or some (their kernels).',
      unit: 's',
      red: { from: 5 },
      queries: [
        {
          expr: `cluster_quantile:nodeproxy_network_programming_duration_seconds:histogram_quantile{${C}}`,
          legend: '{{cluster}} {{quantile}}',
        },
      ],
      page: 'operate/dashboards.md#objectives',
    },
    {
      title: 'The slowest nodes',
      kind: 'lines',
      answers: 'On which nodes changes take longest, by the latency that 99 of 100 keep.',
      remedy:
        'Red: open the dashboard of that node, and look at "Duration of a run" and "Refused by the kernel".',
      unit: 's',
      red: { from: 5 },
      queries: [
        {
          expr: `topk(5, cluster_instance_quantile:nodeproxy_network_programming_duration_seconds:histogram_quantile{${C},quantile="0.99"})`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/troubleshooting.md#rules-too-many-slow',
    },
  ],
}

const state: RowSpec = {
  title: 'What the nodes hold',
  panels: [
    {
      title: 'Revisions between nodes',
      kind: 'lines',
      answers:
        'How many revisions of the store lie between the node that has most in its kernel and the one that has least.',
      remedy:
        'It is 0 between changes. Growing: one node is stuck; "Nodes that are behind" counts it.',
      unit: 'none',
      queries: [
        {
          expr: `max by (cluster, resource) (nodeproxy_applied_resource_version{${C},resource!="nodes"}) - min by (cluster, resource) (nodeproxy_applied_resource_version{${C},resource!="nodes"})`,
          legend: '{{cluster}} {{resource}}',
        },
      ],
      page: 'operate/troubleshooting.md#whether-a-node-is-well',
    },
    {
      title: 'Service ports by status',
      kind: 'lines',
      answers:
        'How many ports of Services all nodes serve, and how many wait, are refused or have an address of another Service.',
      remedy: 'Conflict or Error: `node-proxy entries` of a node names them with the reason.',
      unit: 'none',
      queries: [{ expr: `sum by (status) (nodeproxy_entries{${C}})`, legend: '{{status}}' }],
      page: 'semantics.md#conflicts',
    },
    {
      title: 'Objects',
      kind: 'lines',
      answers: 'How many Services, EndpointSlices and nodes node-proxy knows of.',
      remedy:
        'A fall without a change: look at "Nodes without the API server", and at who deleted them in the audit log.',
      unit: 'none',
      queries: [
        {
          expr: `max by (cluster, resource) (nodeproxy_objects{${C}})`,
          legend: '{{cluster}} {{resource}}',
        },
      ],
      page: 'semantics.md#which-services',
    },
    {
      title: 'Refused by kernels',
      kind: 'lines',
      answers: 'How many objects the kernels of all nodes refuse each second, by error code.',
      remedy:
        'Above 0: errors.md has the remedy for each code, the dashboard of a node shows where.',
      unit: 'ops',
      queries: [
        {
          expr: `${rateBy('code', `nodeproxy_apply_failures_total{${C}}`)} or vector(0)`,
          legend: '{{code}}',
        },
      ],
      page: 'errors.md',
    },
    {
      title: 'Repairs by node',
      kind: 'lines',
      answers: 'On which nodes other software changed most rules within the last hour.',
      remedy:
        'The same node again and again: its log names the objects. Configure the other software to leave them alone.',
      unit: 'none',
      queries: [
        {
          expr: `topk(5, sum by (instance) (increase(nodeproxy_drift_repairs_total{${C}}[1h]))) or vector(0)`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/install.md#beside-other-software',
    },
    {
      title: 'Busiest Services',
      kind: 'lines',
      answers: 'Which Services get most new connections in the cluster.',
      remedy: 'Of all nodes but those in mode nftables without `nftables.trafficCounters`.',
      unit: 'cps',
      empty: 'no node counts connections',
      queries: [
        {
          expr: `topk(10, ${rateBy('service_namespace, service_name', `nodeproxy_service_connections_total{${C}}`)})`,
          legend: '{{service_namespace}}/{{service_name}}',
        },
      ],
      page: 'operate/traffic.md#what-each-mode-counts',
    },
    {
      title: 'Versions',
      kind: 'lines',
      answers: 'How many nodes run each version.',
      remedy: 'Two versions outside of an upgrade: a node that the rollout passed over.',
      unit: 'none',
      queries: [{ expr: `count by (version) (nodeproxy_build_info{${C}})`, legend: '{{version}}' }],
      page: 'operate/upgrade.md',
    },
    {
      title: 'Memory of the largest node-proxies',
      kind: 'lines',
      answers: 'Which node-proxies hold most memory.',
      remedy: 'The page has what a cluster of a size needs, for the limit of the DaemonSet.',
      unit: 'bytes',
      queries: [
        {
          expr: `topk(5, process_resident_memory_bytes{job="node-proxy",${C}})`,
          legend: '{{instance}}',
        },
      ],
      page: 'operate/install.md#memory',
    },
  ],
}

export const cluster: DashboardSpec = {
  name: 'cluster',
  title: 'node-proxy: cluster',
  about:
    'Whether all nodes follow the cluster, whether the objectives are met, and which nodes and Services stand out.',
  variables: [],
  rows: [now, objectives, state],
}
