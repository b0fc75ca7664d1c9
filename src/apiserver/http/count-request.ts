import type { ServerMetrics } from '../metrics/server-metrics.ts'
import type { Exchange } from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'
import type { FoundRoute } from './routes.ts'

/** The methods that have their own label; all others share one. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Counts a request when its answer has ended or its client has disconnected. */
export function countRequest(
  metrics: ServerMetrics,
  exchange: Exchange & { readonly query: URLSearchParams },
  found: FoundRoute | undefined,
): void {
  const { request, response, query } = exchange
  const start = performance.now()
  const method = request.method ?? 'GET'
  const labels = { verb: METHODS.has(method) ? method : 'other', ...resourceLabels(found) }
  if (found?.route.kind === 'resource') labels.verb = verbOf(labels.verb, found, query)
  response.once('close', () => {
    metrics.requests.inc({ ...labels, code: response.statusCode })
    if (labels.verb === 'WATCH') return
    metrics.requestDuration.observe(labels, (performance.now() - start) / 1000)
  })
}

function resourceLabels(found: FoundRoute | undefined) {
  if (found?.route.kind !== 'resource')
    return { group: '', version: '', resource: '', subresource: '' }
  const { served, subresource } = found.route
  return {
    group: served.group,
    version: served.version,
    resource: served.resource.plural,
    subresource,
  }
}

function verbOf(method: string, { name, route }: FoundRoute, query: URLSearchParams): string {
  if (route.kind === 'resource' && route.isWatch && method === 'GET') return 'WATCH'
  if (name !== '') return method
  if (method === 'GET') return parseFlag(query, 'watch') ? 'WATCH' : 'LIST'
  return method === 'DELETE' ? 'DELETECOLLECTION' : method
}
