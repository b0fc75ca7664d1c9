import {
  createRegistry,
  METRIC_TABLE,
  type MetricsOf,
  type MetricTable,
  PREFIX,
} from './registry.ts'

/** The daemon's metrics: one typed member for each row of the table. */
export type Metrics = MetricsOf<MetricTable>

/** Creates the metrics of one daemon, all at their initial values. */
export function createMetrics(): Metrics {
  return createRegistry(METRIC_TABLE, PREFIX)
}
