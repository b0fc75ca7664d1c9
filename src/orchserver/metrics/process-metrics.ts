import { Registry } from 'prom-client'
import { createRegistry, type MetricsOf } from '../../telemetry/metrics/registry.ts'
import { PROCESS_METRICS, PROCESS_PREFIX } from './process-metric-table.ts'

export type ProcessMetrics = MetricsOf<typeof PROCESS_METRICS>

/** Their text can stand beside that of the API server and of the controllers. */
export function createProcessMetrics(): ProcessMetrics {
  return createRegistry(PROCESS_METRICS, PROCESS_PREFIX, new Registry())
}
