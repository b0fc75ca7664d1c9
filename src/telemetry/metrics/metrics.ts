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

/** One metric as it is exported; `name` comes after the prefix `nodeproxy_`. */
export interface MetricDefinition {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  /** One sentence or two; ends with a full stop. */
  readonly help: string
  /** Upper bounds, of histograms only. */
  readonly buckets?: readonly number[]
}

/** `count` bounds from `start`, each `factor` times the one before. */
export function exponential(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(6)))
}
