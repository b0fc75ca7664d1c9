import type { MetricDefinition } from '../../telemetry/metrics/definition.ts'

export const PROCESS_PREFIX = 'orchserver_'

/** Every metric of the process around the API server and the controllers, once. */
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
} as const satisfies Readonly<Record<string, MetricDefinition>>
