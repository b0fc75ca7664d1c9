import type { Family, IpAddress } from '../lib/ip.ts'
import { isSpecialAddress } from '../lib/special-address.ts'
import type { Service, ServiceKey } from '../resources/types.ts'
import { isReady } from './backends.ts'
import { type ClusterView, isServed, type NodeContext } from './node-context.ts'

/** The answer of the health check server for one Service. */
export interface HealthCheck {
  readonly service: ServiceKey
  readonly port: number
  /** Ready endpoints on this node; 0 means 503. */
  readonly localEndpoints: number
}

/**
 * The health check of a Service of type LoadBalancer with `externalTrafficPolicy: Local` and an allocated
 * `healthCheckNodePort`; undefined for any other.
 */
export function healthCheckOf(
  key: ServiceKey,
  cluster: ClusterView,
  node: NodeContext,
): HealthCheck | undefined {
  const service = cluster.service(key)
  if (service === undefined || !isServed(service, node)) return undefined
  if (!hasHealthCheck(service)) return undefined
  const port = service.healthCheckNodePort
  return { service: key, port, localEndpoints: localReadyEndpoints(key, cluster, node) }
}

/** Whether the node answers health checks of the Service; see `healthCheckOf`. */
export function hasHealthCheck(service: Service): boolean {
  const { type, externalTrafficPolicy, healthCheckNodePort } = service
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local' && healthCheckNodePort > 0
}

/**
 * The number of ready endpoints of a Service on this node with at least one port: of the distinct addresses of each
 * family, the larger count, so that a dual-stack Pod counts once. A terminating endpoint is not ready, even where it still
 * gets traffic.
 */
export function localReadyEndpoints(
  key: ServiceKey,
  cluster: ClusterView,
  node: Pick<NodeContext, 'name'>,
): number {
  const service = cluster.service(key)
  if (service === undefined) return 0
  const seen: Record<Family, Set<IpAddress>> = { 4: new Set(), 6: new Set() }
  for (const { groups } of cluster.endpointSourcesOf(key)) {
    for (const { family, ports, endpoints } of groups) {
      if (ports.length === 0) continue
      for (const endpoint of endpoints) {
        if (endpoint.nodeName !== node.name || isSpecialAddress(endpoint.ip)) continue
        if (isReady(endpoint, service)) seen[family].add(endpoint.ip)
      }
    }
  }
  return Math.max(seen[4].size, seen[6].size)
}
