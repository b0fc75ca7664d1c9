import { exponential, type MetricDefinition } from './definition.ts'

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
    help: 'What is enforced: policy (that isolates a pod of this node), isolated_address (of pods of this node), set, policy_chain, pod_chain.',
  },
  policyDropped: {
    name: 'policy_dropped_packets_total',
    type: 'counter',
    labels: ['policy', 'direction'],
    help: 'Packets that no policy admitted, by the policies that isolate the pod (namespace/name, several with commas), and direction; (unknown pod): dropped by networkPolicy.unknownPods. At most 100 rows; further ones are counted together under an empty name.',
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
