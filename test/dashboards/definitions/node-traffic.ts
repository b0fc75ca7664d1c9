import type { RowSpec } from './dashboard.ts'
import { INSTANCE as I, rateBy } from './queries.ts'

/** The row of a node about what it forwards. */
export const traffic: RowSpec = {
  title: 'Traffic',
  panels: [
    {
      title: 'Connections of Services',
      kind: 'lines',
      answers: 'Which Services get most new connections on these nodes.',
      remedy:
        'Where there is none in mode nftables, set `nftables.trafficCounters`. `node-proxy traffic` has the backends of each.',
      unit: 'cps',
      empty: 'this mode does not count connections',
      queries: [
        {
          expr: `topk(10, ${rateBy('service_namespace, service_name', `nodeproxy_service_connections_total{${I}}`)})`,
          legend: '{{service_namespace}}/{{service_name}}',
        },
      ],
      page: 'operate/traffic.md#what-each-mode-counts',
    },
    {
      title: 'Bytes of Services',
      kind: 'lines',
      answers: 'Which Services move most bytes through these nodes: in, from clients, and out.',
      remedy: 'In all modes but iptables; in nftables with `nftables.trafficCounters`.',
      unit: 'Bps',
      empty: 'this mode does not count bytes',
      queries: [
        {
          expr: `topk(10, ${rateBy('service_namespace, service_name, direction', `nodeproxy_service_bytes_total{${I}}`)})`,
          legend: '{{service_namespace}}/{{service_name}} {{direction}}',
        },
      ],
      page: 'operate/traffic.md#what-each-mode-counts',
    },
    {
      title: 'Userspace mode: connections and flows',
      kind: 'lines',
      answers: 'How many TCP connections and UDP flows the forwarder carries.',
      remedy:
        'Near `userspace.maxConnections` new clients are refused: the panel beside counts them as over_limit.',
      unit: 'none',
      empty: 'only in userspace mode',
      queries: [
        { expr: `nodeproxy_forwarder_sessions{${I}}`, legend: '{{instance}} {{protocol}}' },
      ],
      page: 'operate/userspace.md#limits',
    },
    {
      title: 'Userspace mode: clients that got nothing',
      kind: 'lines',
      answers:
        'How many clients are refused each second, by reason, and how many attempts to connect to a backend fail.',
      remedy:
        'no_backend: no backend took them. over_limit: too many connections. outside_ranges: the Service does not admit the client.',
      unit: 'ops',
      empty: 'only in userspace mode',
      queries: [
        {
          expr: rateBy('instance, reason', `nodeproxy_forwarder_refused_total{${I}}`),
          legend: '{{instance}} {{reason}}',
        },
        {
          expr: rateBy('instance', `nodeproxy_forwarder_connect_failures_total{${I}}`),
          legend: '{{instance}} failed attempts',
        },
      ],
      page: 'operate/userspace.md#backends',
    },
    {
      title: 'Session affinity: remembered clients',
      kind: 'lines',
      answers:
        'How many clients have a backend that session affinity remembers, in userspace mode.',
      remedy:
        'At `userspace.affinityClients` clients are forgotten before their time, and may meet another backend: raise it.',
      unit: 'none',
      empty: 'only in userspace mode',
      queries: [
        { expr: `nodeproxy_affinity_clients{${I}}`, legend: '{{instance}} remembered' },
        {
          expr: `increase(nodeproxy_affinity_evicted_total{${I}}[$__rate_interval])`,
          legend: '{{instance}} forgotten early',
        },
      ],
      page: 'operate/userspace.md#limits',
    },
    {
      title: 'Service ports without an endpoint here',
      kind: 'lines',
      answers: 'How many ports of Services with policy Local have endpoints, but none on the node.',
      remedy:
        'external: load balancers pass the node over, as intended. internal: Pods of the node cannot reach the Service; schedule a Pod of it there.',
      unit: 'none',
      queries: [
        {
          expr: `sum by (instance, traffic_policy) (nodeproxy_sync_proxy_rules_no_local_endpoints_total{${I}})`,
          legend: '{{instance}} {{traffic_policy}}',
        },
      ],
      page: 'operate/troubleshooting.md#external-access-fails',
    },
  ],
}
