import type { NodeApi } from './node-api.ts'
import type { RequestLimit } from './request-limit.ts'

/** A node whose requests wait for their turn, but for the stream of changes, which has no end. */
export function limitedApi(api: NodeApi, limit: RequestLimit): NodeApi {
  return {
    status: (signal) => limit.run(() => api.status(signal), signal),
    services: (signal) => limit.stream(() => api.services(signal), signal),
    entries: (service, signal) => limit.stream(() => api.entries(service, signal), signal),
    traffic: (service, signal) => limit.stream(() => api.traffic(service, signal), signal),
    changes: (signal) => api.changes(signal),
    explain: (query, signal) => limit.run(() => api.explain(query, signal), signal),
  }
}
