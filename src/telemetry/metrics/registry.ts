import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { serviceMetrics, sourceMetrics } from './cluster-metrics.ts'
import type { MetricDefinition } from './definition.ts'
import { forwarderMetrics } from './forwarder-metrics.ts'
import {
  announcementMetrics,
  kernelMetrics,
  policyMetrics,
  processMetrics,
} from './node-metrics.ts'
import { syncMetrics } from './sync-metrics.ts'

export const PREFIX = 'nodeproxy_'

/** Every metric of the daemon, once, by its heading in the documentation. */
export const METRIC_SECTIONS: Readonly<Record<string, Readonly<Record<string, MetricDefinition>>>> =
  {
    Synchronisation: syncMetrics,
    Kernel: kernelMetrics,
    'Userspace mode': forwarderMetrics,
    Services: serviceMetrics,
    NetworkPolicies: policyMetrics,
    'Announced addresses': announcementMetrics,
    'API server': sourceMetrics,
    Daemon: processMetrics,
  }

/** Every metric of the daemon, by its name in the program. */
export const METRIC_TABLE = {
  ...syncMetrics,
  ...kernelMetrics,
  ...forwarderMetrics,
  ...serviceMetrics,
  ...policyMetrics,
  ...announcementMetrics,
  ...sourceMetrics,
  ...processMetrics,
} as const

export type MetricTable = typeof METRIC_TABLE

/** Metrics by the name of their member, as a table that types and documents them. */
export type MetricRows = Readonly<Record<string, MetricDefinition>>

type MetricOf<D extends MetricDefinition> = D['type'] extends 'counter'
  ? Counter<D['labels'][number]>
  : D['type'] extends 'gauge'
    ? Gauge<D['labels'][number]>
    : Histogram<D['labels'][number]>

/** One typed member for each row of a table, and the text for /metrics. */
export type MetricsOf<T extends MetricRows> = { readonly [K in keyof T]: MetricOf<T[K]> } & {
  readonly contentType: string
  /** The Prometheus text format. */
  text(): Promise<string>
}

/** Metrics of prom-client that are left out: they poll a timer, and eventLoopDelay shows the same more precisely. */
const UNWANTED = /^nodejs_eventloop_/
const NEVER_MS = 2 ** 30

/**
 * Adds the metrics of a table to a registry. Nothing is global, so tests and
 * servers do not meet; by default the process metrics are included.
 */
export function createRegistry<T extends MetricRows>(
  rows: T,
  prefix: string,
  registry: Registry = createProcessRegistry(),
): MetricsOf<T> {
  const members = Object.entries(rows).map(([key, definition]) => [
    key,
    createMetric(definition, prefix, registry),
  ])
  return {
    ...(Object.fromEntries(members) as { [K in keyof T]: MetricOf<T[K]> }),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  }
}

function createProcessRegistry(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS })
  for (const { name } of registry.getMetricsAsArray()) {
    if (UNWANTED.test(name)) registry.removeSingleMetric(name)
  }
  return registry
}

function createMetric(definition: MetricDefinition, prefix: string, registry: Registry) {
  const { type, name, help, labels, buckets } = definition
  const shape = { name: prefix + name, help, labelNames: [...labels], registers: [registry] }
  if (type === 'counter') return new Counter(shape)
  if (type === 'gauge') return new Gauge(shape)
  return new Histogram({ ...shape, ...(buckets && { buckets: [...buckets] }) })
}
