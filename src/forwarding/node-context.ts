import type { Cidr, Family, IpAddress } from '../lib/ip.ts'
import type { EndpointSource, Node, Protocol, Service, ServiceKey } from '../resources/types.ts'

/** The parts of the cluster that the compiler reads, as `ClusterStore` provides them. */
export interface ClusterView {
  service(key: ServiceKey): Service | undefined
  /** Every EndpointSlice (or the one Endpoints object) of a Service, in any order. */
  endpointSourcesOf(key: ServiceKey): readonly EndpointSource[]
  node(name: string): Node | undefined
}

export const AFFINITY_SCOPES = ['service', 'port'] as const

export type AffinityScope = (typeof AFFINITY_SCOPES)[number]

/** The properties of the node for which the compiler works. */
export interface NodeContext {
  readonly name: string
  /** Undefined if unknown: then zone hints are ignored. */
  readonly zone: string | undefined
  /** This node's own addresses. */
  readonly addresses: Readonly<Record<Family, readonly IpAddress[]>>
  /** externalIPs outside these networks are refused; undefined allows every one. */
  readonly allowedExternalIPs: readonly Cidr[] | undefined
  /** The `service-proxy-name` of the Services that are served; undefined for those without one. */
  readonly proxyName: string | undefined
  /** What a client with session affinity sticks to: one Pod for all ports of a Service, or a backend for each port. */
  readonly affinityScope: AffinityScope
  /** How long a removed backend keeps its connections; 0 means that it does not drain. */
  readonly drainSeconds: Readonly<Record<Protocol, number>>
}

/** Whether this node forwards for a Service: it has a ClusterIP, and no other proxy serves it. */
export function isServed(service: Service, node: Pick<NodeContext, 'proxyName'>): boolean {
  return ownsClusterIPs(service) && service.proxyName === node.proxyName
}

/**
 * The ClusterIPs that belong to a Service, even if another proxy serves it: no other Service may
 * capture them through externalIPs or a load balancer address (CVE-2020-8554).
 */
export function clusterIPsOf(key: ServiceKey, cluster: ClusterView): readonly IpAddress[] {
  const service = cluster.service(key)
  return service !== undefined && ownsClusterIPs(service) ? service.clusterIPs : []
}

function ownsClusterIPs(service: Service): boolean {
  return service.type !== 'ExternalName' && service.clusterIPs.length > 0
}
