import type { MetricDefinition } from './definition.ts'

/** Metrics of the userspace mode, which copies the bytes of connections itself. */
export const forwarderMetrics = {
  forwarderWorkers: {
    name: 'forwarder_workers',
    type: 'gauge',
    labels: ['data_path'],
    help: 'Worker threads that forward, by how: native (system calls) or javascript.',
  },
  forwarderSessions: {
    name: 'forwarder_sessions',
    type: 'gauge',
    labels: ['protocol'],
    help: 'TCP connections and UDP flows that exist.',
  },
  forwarderSessionsTotal: {
    name: 'forwarder_sessions_total',
    type: 'counter',
    labels: ['protocol'],
    help: 'TCP connections and UDP flows that began.',
  },
  forwarderBytes: {
    name: 'forwarder_bytes_total',
    type: 'counter',
    labels: ['direction'],
    help: 'Payload that was moved: in, from clients to backends, and out; of a TCP connection once it has ended.',
  },
  forwarderConnectFailures: {
    name: 'forwarder_connect_failures_total',
    type: 'counter',
    labels: [],
    help: 'Attempts to connect to a backend that failed.',
  },
  forwarderConnectRetries: {
    name: 'forwarder_connect_retries_total',
    type: 'counter',
    labels: [],
    help: 'Further backends that were tried for a client after one had failed.',
  },
  forwarderRefused: {
    name: 'forwarder_refused_total',
    type: 'counter',
    labels: ['reason'],
    help: 'Clients that got nothing: no_backend took them, over_limit of connections, or outside_ranges of the Service.',
  },
  forwarderEnded: {
    name: 'forwarder_ended_total',
    type: 'counter',
    labels: ['reason'],
    help: 'Connections that node-proxy ended: evicted at the connection limit, drained because their backend was removed long ago.',
  },
  forwarderBackendsAside: {
    name: 'forwarder_backends_aside',
    type: 'gauge',
    labels: [],
    help: 'Backends that get no new connection for some seconds because the last ones failed; each worker counts its own.',
  },
  affinityClients: {
    name: 'affinity_clients',
    type: 'gauge',
    labels: [],
    help: 'Clients whose backend session affinity remembers.',
  },
  affinityEvicted: {
    name: 'affinity_evicted_total',
    type: 'counter',
    labels: [],
    help: 'Clients that session affinity forgot before their time, because the table was full (userspace.affinityClients).',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
