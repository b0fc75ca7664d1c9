import { createRegistry, type MetricsOf } from '../../telemetry/metrics/registry.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type InFlightLimits, REQUEST_KINDS } from '../flow-control/in-flight-limits.ts'
import type { Reply } from '../request/api-request.ts'
import { SERVER_METRICS, SERVER_PREFIX } from './server-metric-table.ts'

/** The metrics that `SERVER_METRICS` declares, and their text for Prometheus. */
export type ServerMetrics = MetricsOf<typeof SERVER_METRICS>

/**
 * Creates the metrics of one API server. `more` provides further metrics of its process in Prometheus' text format;
 * `text()` appends them.
 */
export function createServerMetrics(more?: () => Promise<string>): ServerMetrics {
  const own = createRegistry(SERVER_METRICS, SERVER_PREFIX)
  if (more === undefined) return own
  return { ...own, text: async () => (await own.text()) + (await more()) }
}

/** The state of the server that the gauges show. */
export interface MeasuredState extends Pick<ServerContext, 'store' | 'feed' | 'watches'> {
  readonly inFlight: Pick<InFlightLimits, 'load'>
}

/**
 * The response to GET /metrics. The gauges are set to their present values first. If the store cannot be read, the
 * gauge for the lag of the caches keeps its last value.
 */
export async function metricsReply(metrics: ServerMetrics, state: MeasuredState): Promise<Reply> {
  const { store, feed, inFlight, watches } = state
  for (const kind of REQUEST_KINDS) {
    const { running, waiting } = inFlight.load(kind)
    metrics.inFlight.set({ request_kind: kind }, running)
    metrics.inQueue.set({ request_kind: kind }, waiting)
  }
  metrics.watches.set({ verb: 'WATCH' }, watches.size)
  for (const [resource, cache] of feed.caches) {
    metrics.objects.set({ resource }, cache.size)
    metrics.unreadableObjects.set({ resource }, cache.unreadable.size)
  }
  const newest = await store.revision().catch(() => undefined)
  // The caches may have read on meanwhile, so their revision is read last.
  if (newest !== undefined) metrics.feedLag.set(Math.max(0, newest - feed.revision))
  const body = [Buffer.from(await metrics.text())]
  return { code: 200, contentType: metrics.contentType, body }
}
