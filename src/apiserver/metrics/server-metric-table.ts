import { exponential, type MetricDefinition } from '../../telemetry/metrics/definition.ts'

/** The prefix that dashboards for Kubernetes API servers expect. */
export const SERVER_PREFIX = 'apiserver_'

/** Every metric of the API server, once. */
export const SERVER_METRICS = {
  requests: {
    name: 'request_total',
    type: 'counter',
    labels: ['verb', 'group', 'version', 'resource', 'subresource', 'code'],
    help: 'Requests that were answered; resource is empty for documents and unknown paths.',
  },
  requestDuration: {
    name: 'request_duration_seconds',
    type: 'histogram',
    labels: ['verb', 'group', 'version', 'resource', 'subresource'],
    buckets: exponential(0.001, 2, 16),
    help: 'From the head of a request to the end of its answer, without watches.',
  },
  inFlight: {
    name: 'current_inflight_requests',
    type: 'gauge',
    labels: ['request_kind'],
    help: 'Requests that are being served, without watches.',
  },
  inQueue: {
    name: 'current_inqueue_requests',
    type: 'gauge',
    labels: ['request_kind'],
    help: 'Requests that wait until others are answered.',
  },
  rejected: {
    name: 'flowcontrol_rejected_requests_total',
    type: 'counter',
    labels: ['request_kind', 'priority_level', 'reason'],
    help: 'Requests that were answered 429: queue-full or time-out, of the system or of the workload.',
  },
  accountTokens: {
    name: 'account_token_requests_total',
    type: 'counter',
    labels: ['key_id'],
    help: 'Requests that were accepted with a token of an account, by the key that signed it; a key whose count no longer grows can be removed.',
  },
  watches: {
    name: 'longrunning_requests',
    type: 'gauge',
    labels: ['verb'],
    help: 'Watches that are open.',
  },
  objects: {
    name: 'storage_objects',
    type: 'gauge',
    labels: ['resource'],
    help: 'Objects in the caches.',
  },
  unreadableObjects: {
    name: 'storage_unreadable_objects',
    type: 'gauge',
    labels: ['resource'],
    help: 'Stored objects that cannot be read and are not served.',
  },
  conditions: {
    name: 'conditions',
    type: 'gauge',
    labels: ['reason'],
    help: '1 while a condition holds that an operator should know about; /healthz and /readyz list them.',
  },
  feedLag: {
    name: 'cache_lag_revisions',
    type: 'gauge',
    labels: [],
    help: 'How many revisions the caches are behind the store.',
  },
  addressRepairs: {
    name: 'clusterip_repair_ip_errors_total',
    type: 'counter',
    labels: ['type'],
    help: 'ClusterIPs for which Services and allocations disagreed: leak (freed), repair (allocated again), duplicate, outOfRange (a range was changed).',
  },
  portRepairs: {
    name: 'nodeport_repair_port_errors_total',
    type: 'counter',
    labels: ['type'],
    help: 'Node ports for which Services and allocations disagreed: leak (freed), repair (allocated again), duplicate, outOfRange (the range was changed).',
  },
  outsideRange: {
    name: 'services_outside_range',
    type: 'gauge',
    labels: ['kind'],
    help: 'Services with an address or a node port (kind address, port) outside of the range that this server gives out.',
  },
  storeDuration: {
    name: 'store_request_duration_seconds',
    type: 'histogram',
    labels: ['operation', 'result'],
    buckets: exponential(0.0001, 2, 18),
    help: 'How long the store took to read or commit.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
