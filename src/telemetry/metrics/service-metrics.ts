import type { MetricDefinition } from './definition.ts'

/** What a mode that counts packets knows of each Service. */
export const serviceMetrics = {
  servicePackets: {
    name: 'service_packets_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name', 'direction'],
    help: 'Packets forwarded for a Service: in, from clients to backends, and out. With nftables.trafficCounters. Of more than 500 Services those that had the most bytes first have a row of their own; the others are counted together under an empty name.',
  },
  serviceBytes: {
    name: 'service_bytes_total',
    type: 'counter',
    labels: ['service_namespace', 'service_name', 'direction'],
    help: 'Bytes of these packets, with their IP headers.',
  },
} as const satisfies Record<string, MetricDefinition>
