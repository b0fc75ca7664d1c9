import type { MetricDefinition } from './definition.ts'

/** What a mode that counts packets knows of each Service. */
export const serviceMetrics = {
  serviceConnections: {
    name: 'service_connections_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name'],
    help: 'Connections and UDP flows that were sent to a backend of a Service; in mode nftables with nftables.trafficCounters. Of more than 500 Services those that had the most traffic first have a row of their own; the others are counted together under an empty name. Each backend: node-proxy traffic.',
  },
  servicePackets: {
    name: 'service_packets_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name', 'direction'],
    help: 'Packets forwarded for a Service: in, from clients to backends, and out. In mode ipvs, and in mode nftables with nftables.trafficCounters. Rows as above.',
  },
  serviceBytes: {
    name: 'service_bytes_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name', 'direction'],
    help: 'Bytes of these packets with their IP headers; in mode userspace, of TCP and UDP payload.',
  },
} as const satisfies Record<string, MetricDefinition>
