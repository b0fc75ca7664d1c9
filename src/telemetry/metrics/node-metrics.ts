import { exponential, type MetricDefinition } from './definition.ts'

/** The daemon itself. */
export const processMetrics = {
  healthz: {
    name: 'proxy_healthz_total',
    type: 'counter',
    labels: ['code'],
    help: 'Answers of /healthz.',
  },
  livez: {
    name: 'proxy_livez_total',
    type: 'counter',
    labels: ['code'],
    help: 'Answers of /livez.',
  },
  buildInfo: {
    name: 'build_info',
    type: 'gauge',
    labels: ['version', 'node_version'],
    help: 'Always 1.',
  },
  configReloads: {
    name: 'config_reloads_total',
    type: 'counter',
    labels: ['result'],
    help: 'Changed configuration files: applied, or refused (the old one stays in force).',
  },
  configReloadSuccessful: {
    name: 'config_last_reload_successful',
    type: 'gauge',
    labels: [],
    help: '0 while the configuration file differs from what is in force because its last change was refused, else 1.',
  },
  events: {
    name: 'events_total',
    type: 'counter',
    labels: ['reason', 'outcome'],
    help: 'Warning events about Services and the node: sent, suppressed (repeated or too many) or failed.',
  },
  healthCheckPorts: {
    name: 'health_check_node_ports',
    type: 'gauge',
    labels: ['state'],
    help: 'Health check node ports: listening, or blocked by a socket of another process.',
  },
  conditions: {
    name: 'conditions',
    type: 'gauge',
    labels: ['reason'],
    help: '1 while a condition holds that an operator should know about; /readyz lists them.',
  },
  eventLoopDelay: {
    name: 'event_loop_delay_seconds',
    type: 'histogram',
    labels: [],
    buckets: exponential(0.001, 2, 14),
    help: 'How late a timer fires, sampled twice a second.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

/** Metrics that compare the intended state with our objects in the kernel. */
export const kernelMetrics = {
  appliedResourceVersion: {
    name: 'applied_resource_version',
    type: 'gauge',
    labels: ['resource'],
    help: 'Highest resourceVersion of services, endpointslices, endpoints or nodes whose effect is in the kernel.',
  },
  programmedObjects: {
    name: 'programmed_objects',
    type: 'gauge',
    labels: ['kind', 'ip_family'],
    help: 'Kernel objects that the daemon keeps: chains, sets, virtual servers, …; ip_family any: of no single family.',
  },
  entries: {
    name: 'entries',
    type: 'gauge',
    labels: ['status'],
    help: 'Service ports of this node by status: Pending, Done, Conflict or Error.',
  },
  applyFailures: {
    name: 'apply_failures_total',
    type: 'counter',
    labels: ['code'],
    help: 'Objects that the kernel refused, by error code; each is tried again.',
  },
  driftRepairs: {
    name: 'drift_repairs_total',
    type: 'counter',
    labels: ['object', 'cause'],
    help: 'Objects that another process removed, altered or added, and node-proxy repaired.',
  },
  drainingBackends: {
    name: 'draining_backends',
    type: 'gauge',
    labels: [],
    help: 'Backends that get no new connection and keep those they have for a while; 0 in modes where connections outlive the rules.',
  },
  modeInfo: {
    name: 'mode_info',
    type: 'gauge',
    labels: ['mode', 'backend'],
    help: '1 for the mode that is at work; backend none: no iptables is used.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

/** Metrics of the enforcement of NetworkPolicies. */
export const policyMetrics = {
  policyEnforcement: {
    name: 'policy_enforcement',
    type: 'gauge',
    labels: [],
    help: '1 while NetworkPolicies are enforced for the pods of this node, else 0; node-proxy status shows why.',
  },
  policySync: {
    name: 'policy_sync_duration_seconds',
    type: 'histogram',
    labels: [],
    buckets: exponential(0.001, 2, 14),
    help: 'How long a run takes that writes the changes of policies, pods and namespaces to the kernel.',
  },
  policyObjects: {
    name: 'policy_objects',
    type: 'gauge',
    labels: ['kind'],
    help: 'What is enforced: policy (that is about a pod of this node), isolated_address (of pods of this node), set, policy_chain, pod_chain.',
  },
  policyDropped: {
    name: 'policy_dropped_packets_total',
    type: 'counter',
    labels: ['policy', 'direction'],
    help: 'Packets that policies dropped, by direction and policy: those that isolate the pod and did not admit them (namespace/name, several with commas), or the ClusterNetworkPolicy that denied them (its name); (unknown pod): dropped by networkPolicy.unknownPods. At most 100 rows; further ones are counted together under an empty name.',
  },
  policyDrift: {
    name: 'policy_drift_repairs_total',
    type: 'counter',
    labels: [],
    help: 'Sets and chains of policies that another process removed or altered, and node-proxy repaired.',
  },
  policyFailures: {
    name: 'policy_failures_total',
    type: 'counter',
    labels: ['code'],
    help: 'Failures of reading or writing the rules of policies, by error code; each is tried again.',
  },
  policyLastFailure: {
    name: 'policy_last_failure_timestamp_seconds',
    type: 'gauge',
    labels: [],
    help: 'The last of these failures; 0: none since the start.',
  },
  policyConnectionsCut: {
    name: 'policy_connections_cut_total',
    type: 'counter',
    labels: [],
    help: 'Established connections that were cut because policies no longer admit them.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

/** Metrics of the announcement of load balancer addresses. */
export const announcementMetrics = {
  announcedAddresses: {
    name: 'announced_addresses',
    type: 'gauge',
    labels: [],
    help: 'Load balancer addresses that this node answers for on its network; node-proxy status lists them.',
  },
  announcementChanges: {
    name: 'announcement_changes_total',
    type: 'counter',
    labels: ['change'],
    help: 'How often this node began or ended to answer for an address.',
  },
  announcementLeaseWrites: {
    name: 'announcement_lease_writes_total',
    type: 'counter',
    labels: ['reason', 'outcome'],
    help: 'Writes of Leases of addresses: to create, acquire, renew, request or release one; written, overtaken (another node was first) or failed.',
  },
  announcementMessages: {
    name: 'announcement_messages_total',
    type: 'counter',
    labels: ['kind'],
    help: 'ARP and neighbour messages about announced addresses: answered, announced (gratuitous), ignored (malformed), unsent (refused by the kernel), conflicting (another host claims the address).',
  },
  bgpSessionUp: {
    name: 'bgp_session_up',
    type: 'gauge',
    labels: ['peer'],
    help: 'Whether the BGP session with a router is established (1), or not (0); node-proxy status says why not.',
  },
  bgpAdvertisedRoutes: {
    name: 'bgp_advertised_routes',
    type: 'gauge',
    labels: ['peer'],
    help: 'Load balancer addresses that this node announces to a router.',
  },
  bgpSessionChanges: {
    name: 'bgp_session_changes_total',
    type: 'counter',
    labels: ['peer', 'change'],
    help: 'How often the BGP session with a router was established, or ended.',
  },
  bgpMessages: {
    name: 'bgp_messages_total',
    type: 'counter',
    labels: ['peer', 'direction', 'kind'],
    help: 'BGP messages that were sent to a router or received from it: open, update, keepalive, notification, routeRefresh, malformed.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
