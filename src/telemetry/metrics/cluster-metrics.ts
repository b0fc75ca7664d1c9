import { exponential, type MetricDefinition } from './definition.ts'

/** Metrics of the credentials with which a program authenticates to the API server. */
export const credentialMetrics = {
  credentialExpiration: {
    name: 'client_credential_expiration_timestamp_seconds',
    type: 'gauge',
    labels: ['kind'],
    help: 'When the credential expires with which the program last authenticated: certificate, token (of the kubeconfig), token-file or exec; the last two are renewed by others. Absent for one that names no end.',
  },
  credentialLate: {
    name: 'client_credential_late_timestamp_seconds',
    type: 'gauge',
    labels: ['kind'],
    help: 'From when on the credential should have been renewed: when a fifth of its life is left (token-file: a tenth, exec: nothing).',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

/** Metrics of each Service, in a mode that counts packets. */
export const serviceMetrics = {
  serviceConnections: {
    name: 'service_connections_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name'],
    help: 'Connections and UDP flows that were sent to a backend of a Service; in mode nftables with nftables.trafficCounters. Of more than 500 Services those that had the most traffic first have a row of their own; the others are counted together under an empty name. `node-proxy traffic` shows each backend.',
  },
  servicePackets: {
    name: 'service_packets_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name', 'direction'],
    help: 'Packets forwarded for a Service: in, from clients to backends, and out. In mode ipvs, and in mode nftables with nftables.trafficCounters. It has the rows of service_connections_total.',
  },
  serviceBytes: {
    name: 'service_bytes_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name', 'direction'],
    help: 'Bytes of the packets of service_packets_total with their IP headers; in mode userspace, of TCP and UDP payload.',
  },
} as const satisfies Record<string, MetricDefinition>

/** Metrics of the data from the API server, and of its freshness. */
export const sourceMetrics = {
  watchEvents: {
    name: 'watch_events_total',
    type: 'counter',
    labels: ['resource', 'type'],
    help: 'Events of watches: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.',
  },
  watchConnected: {
    name: 'watch_connected',
    type: 'gauge',
    labels: ['resource'],
    help: '1 while a watch is open. During an outage of the API the kernel stays as it is.',
  },
  watchLastEvent: {
    name: 'watch_last_event_timestamp_seconds',
    type: 'gauge',
    labels: ['resource'],
    help: 'Last event, bookmark or complete list: what we know is at least that fresh.',
  },
  reflectorRestarts: {
    name: 'reflector_restarts_total',
    type: 'counter',
    labels: ['resource', 'reason'],
    help: 'Times that a resource had to be listed again or its watch opened again.',
  },
  apiFailures: {
    name: 'api_failures_total',
    type: 'counter',
    labels: ['resource', 'reason'],
    help: 'Requests to the API server that failed, by reason: refused, unreachable, closed, timeout, dns, tls, credential, unauthorized, forbidden, throttled, server_error, redirect, not_an_api_server, rejected, rewound or watch_ended.',
  },
  apiFailing: {
    name: 'api_failing',
    type: 'gauge',
    labels: ['resource', 'reason'],
    help: '1 while requests to the API server fail for this reason; 0 once they succeed again.',
  },
  objects: {
    name: 'objects',
    type: 'gauge',
    labels: ['resource'],
    help: 'Objects that exist and could be decoded.',
  },
  rejectedObjects: {
    name: 'rejected_objects',
    type: 'gauge',
    labels: ['resource'],
    help: 'Objects that exist and were rejected as invalid; the log and an Event give the reason.',
  },
  restRequests: {
    name: 'rest_client_requests_total',
    type: 'counter',
    labels: ['code', 'method'],
    help: 'Requests to the API server; code "error" without a response.',
  },
  restDuration: {
    name: 'rest_client_request_duration_seconds',
    type: 'histogram',
    labels: ['verb'],
    buckets: exponential(0.005, 2, 14),
    help: 'From the request to the head of the response.',
  },
  ...credentialMetrics,
} as const satisfies Readonly<Record<string, MetricDefinition>>
