import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { MetricDefinition } from './definition.ts'
import { METRIC_TABLE, type MetricTable, PREFIX } from './table.ts'

type MetricOf<D extends MetricDefinition> = D['type'] extends 'counter'
  ? Counter<D['labels'][number]>
  : D['type'] extends 'gauge'
    ? Gauge<D['labels'][number]>
    : Histogram<D['labels'][number]>

/** One typed member for each row of the table, and what /metrics answers. */
export type Metrics = { readonly [K in keyof MetricTable]: MetricOf<MetricTable[K]> } & {
  readonly contentType: string
  /** The Prometheus text format. */
  text(): Promise<string>
}

/** Of prom-client's own metrics: these poll a timer for what eventLoopDelay shows better. */
const UNWANTED = /^nodejs_eventloop_/
const NEVER_MS = 2 ** 30

/** A registry of its own: nothing is global, so tests and daemons do not meet. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS })
  for (const { name } of registry.getMetricsAsArray()) {
    if (UNWANTED.test(name)) registry.removeSingleMetric(name)
  }
  const members = Object.entries(METRIC_TABLE).map(([key, definition]) => [
    key,
    createMetric(definition, registry),
  ])
  return {
    ...(Object.fromEntries(members) as { [K in keyof MetricTable]: MetricOf<MetricTable[K]> }),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  }
}

function createMetric(definition: MetricDefinition, registry: Registry) {
  const { type, name, help, labels, buckets } = definition
  const shape = { name: PREFIX + name, help, labelNames: [...labels], registers: [registry] }
  if (type === 'counter') return new Counter(shape)
  if (type === 'gauge') return new Gauge(shape)
  return new Histogram({ ...shape, ...(buckets && { buckets: [...buckets] }) })
}
