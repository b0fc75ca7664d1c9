import { exponential, type MetricDefinition } from '../../telemetry/metrics/definition.ts'

/** Dashboards know these names, or find the others beside them. */
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
  feedLag: {
    name: 'cache_lag_revisions',
    type: 'gauge',
    labels: [],
    help: 'How many revisions the caches are behind the store.',
  },
  storeDuration: {
    name: 'store_request_duration_seconds',
    type: 'histogram',
    labels: ['operation', 'result'],
    buckets: exponential(0.0001, 2, 18),
    help: 'How long the store took to read or commit.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
