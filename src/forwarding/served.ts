import type { IpAddress } from '../lib/ip.ts'
import type { Service, ServiceKey } from '../resources/types.ts'
import type { ClusterView, NodeContext } from './node-context.ts'

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
