import { Registry } from 'prom-client'
import type { MetricDefinition } from '../../telemetry/metrics/definition.ts'
import { createRegistry, type MetricsOf } from '../../telemetry/metrics/registry.ts'

export const PROCESS_PREFIX = 'orchserver_'

/** The metrics of the process other than those of the API server and the controllers. */
export const PROCESS_METRICS = {
  certificateEnd: {
    name: 'certificate_expiration_timestamp_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the serving certificate ends, in seconds since 1970.',
  },
  nodeAgent: {
    name: 'node_agent_up',
    type: 'gauge',
    labels: ['node'],
    help: 'With --sandbox-node: 1 while this machine is registered as a node and runs Pods; 0: the log holds the reason.',
  },
  auditEvents: {
    name: 'audit_events_total',
    type: 'counter',
    labels: ['level'],
    help: 'Audit events that were made, by their level. Every output receives all of them.',
  },
  auditDropped: {
    name: 'audit_events_dropped_total',
    type: 'counter',
    labels: ['output'],
    help: 'Audit events that are lost, because the output (log, webhook) accepted none for too long or refused them.',
  },
  auditFailures: {
    name: 'audit_delivery_failures_total',
    type: 'counter',
    labels: ['output'],
    help: 'Attempts to write or post audit events that failed; the events wait for the next attempt, unless they are counted as dropped.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

export type ProcessMetrics = MetricsOf<typeof PROCESS_METRICS>

/** Metrics whose text can be joined with that of the API server and the controllers. */
export function createProcessMetrics(): ProcessMetrics {
  return createRegistry(PROCESS_METRICS, PROCESS_PREFIX, new Registry())
}
