import { exponential, type MetricDefinition } from './definition.ts'

/** Seconds, from 1 ms to 16.384 s: the buckets of kube-proxy. */
const SYNC_BUCKETS = exponential(0.001, 2, 15)

/**
 * Metrics of the sync loop. They have the names and meanings of kube-proxy's metrics, so that its dashboards work with
 * another prefix: `nodeproxy_` instead of `kubeproxy_`. Only `oldest_pending_change_age_seconds` does not exist in
 * kube-proxy.
 */
export const syncMetrics = {
  syncDuration: {
    name: 'sync_proxy_rules_duration_seconds',
    type: 'histogram',
    labels: ['ip_family'],
    buckets: SYNC_BUCKETS,
    help: 'One run of the loop: compare, write, confirm.',
  },
  fullSyncDuration: {
    name: 'sync_full_proxy_rules_duration_seconds',
    type: 'histogram',
    labels: ['ip_family'],
    buckets: SYNC_BUCKETS,
    help: 'Runs that compared or wrote everything.',
  },
  partialSyncDuration: {
    name: 'sync_partial_proxy_rules_duration_seconds',
    type: 'histogram',
    labels: ['ip_family'],
    buckets: SYNC_BUCKETS,
    help: 'Runs that wrote only what had changed.',
  },
  networkProgrammingDuration: {
    name: 'network_programming_duration_seconds',
    type: 'histogram',
    labels: ['ip_family'],
    // Seconds, up to 5 minutes as in kube-proxy. There are fewer buckets than in kube-proxy, but some below 0.25 s.
    buckets: [
      0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 180,
      240, 300,
    ],
    help: 'From the change of the endpoints, by their annotation, to the kernel.',
  },
  lastSync: {
    name: 'sync_proxy_rules_last_timestamp_seconds',
    type: 'gauge',
    labels: ['ip_family'],
    help: 'When a run last succeeded.',
  },
  lastQueued: {
    name: 'sync_proxy_rules_last_queued_timestamp_seconds',
    type: 'gauge',
    labels: ['ip_family'],
    help: 'When a change was last queued.',
  },
  oldestPendingChange: {
    name: 'oldest_pending_change_age_seconds',
    type: 'gauge',
    labels: ['ip_family'],
    help: 'How long the oldest change has waited that the kernel does not hold yet; 0 while it holds all. Growing: stuck; /readyz and the log give the cause.',
  },
  endpointChangesPending: {
    name: 'sync_proxy_rules_endpoint_changes_pending',
    type: 'gauge',
    labels: [],
    help: 'Changes of endpoints that the kernel does not hold yet.',
  },
  endpointChanges: {
    name: 'sync_proxy_rules_endpoint_changes_total',
    type: 'counter',
    labels: [],
    help: 'Changes of endpoints seen.',
  },
  serviceChangesPending: {
    name: 'sync_proxy_rules_service_changes_pending',
    type: 'gauge',
    labels: [],
    help: 'Changes of Services that the kernel does not hold yet.',
  },
  serviceChanges: {
    name: 'sync_proxy_rules_service_changes_total',
    type: 'counter',
    labels: [],
    help: 'Changes of Services seen.',
  },
  iptablesRestoreFailures: {
    name: 'sync_proxy_rules_iptables_restore_failures_total',
    type: 'counter',
    labels: ['ip_family'],
    help: 'Transactions that iptables refused.',
  },
  iptablesPartialRestoreFailures: {
    name: 'sync_proxy_rules_iptables_partial_restore_failures_total',
    type: 'counter',
    labels: ['ip_family'],
    help: 'Transactions of single changes that iptables refused; they are tried again object by object.',
  },
  iptablesRules: {
    name: 'sync_proxy_rules_iptables_total',
    type: 'gauge',
    labels: ['table', 'ip_family'],
    help: 'Rules of ours in the kernel.',
  },
  iptablesRulesLast: {
    name: 'sync_proxy_rules_iptables_last',
    type: 'gauge',
    labels: ['table', 'ip_family'],
    help: 'Rules written by the last run.',
  },
  noLocalEndpoints: {
    name: 'sync_proxy_rules_no_local_endpoints_total',
    type: 'gauge',
    labels: ['traffic_policy', 'ip_family'],
    help: 'Service ports with policy Local (traffic_policy: internal or external) that have endpoints, but none on this node.',
  },
  conntrackDuration: {
    name: 'conntrack_reconciler_sync_duration_seconds',
    type: 'histogram',
    labels: ['ip_family'],
    buckets: SYNC_BUCKETS,
    help: 'One clean-up of flows that lead to backends that are gone.',
  },
  conntrackDeleted: {
    name: 'conntrack_reconciler_deleted_entries_total',
    type: 'counter',
    labels: ['ip_family'],
    help: 'Conntrack entries deleted because their backend is gone.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
