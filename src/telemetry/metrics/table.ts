import type { MetricDefinition } from './definition.ts'
import { forwarderMetrics } from './forwarder-metrics.ts'
import { kernelMetrics } from './kernel-metrics.ts'
import { processMetrics } from './process-metrics.ts'
import { serviceMetrics } from './service-metrics.ts'
import { sourceMetrics } from './source-metrics.ts'
import { syncMetrics } from './sync-metrics.ts'

export const PREFIX = 'nodeproxy_'

/** Every metric of the daemon, once, by the heading it stands under in the documentation. */
export const METRIC_SECTIONS: Readonly<Record<string, Readonly<Record<string, MetricDefinition>>>> =
  {
    Synchronisation: syncMetrics,
    Kernel: kernelMetrics,
    'Userspace mode': forwarderMetrics,
    Services: serviceMetrics,
    'API server': sourceMetrics,
    Daemon: processMetrics,
  }

/** Every metric of the daemon, by its name in the program. */
export const METRIC_TABLE = {
  ...syncMetrics,
  ...kernelMetrics,
  ...forwarderMetrics,
  ...serviceMetrics,
  ...sourceMetrics,
  ...processMetrics,
} as const

export type MetricTable = typeof METRIC_TABLE
