import { createRegistry, type MetricsOf } from './registry.ts'
import { METRIC_TABLE, type MetricTable, PREFIX } from './table.ts'

/** The daemon's metrics: one typed member for each row of the table. */
export type Metrics = MetricsOf<MetricTable>

export function createMetrics(): Metrics {
  return createRegistry(METRIC_TABLE, PREFIX)
}
