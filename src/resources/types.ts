import type { Brand } from '../lib/brand.ts'
import type { Cidr, Family, IpAddress } from '../lib/ip.ts'

/** `namespace/name` of a Service. */
export type ServiceKey = Brand<string, 'ServiceKey'>

/** The protocols of Service ports. */
export type Protocol = 'TCP' | 'UDP' | 'SCTP'

/** `Local`: only endpoints on the node that received the packet. */
export type TrafficPolicy = 'Cluster' | 'Local'

/** Version of the header that carries the client's address to a backend. */
export type ProxyProtocol = 'v1' | 'v2'

/** A port of a Service, with valid numbers. */
export interface ServicePort {
  /** Empty when the Service has a single unnamed port. */
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
  /** 0 if none was allocated. */
  readonly nodePort: number
}

/** The fields of a Service that a node needs; everything else is dropped while decoding. */
export interface Service {
  readonly key: ServiceKey
  readonly uid: string
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
  /** The target name of an ExternalName Service, in lower case; absent for other types. */
  readonly externalName?: string
  /** Empty for headless and ExternalName Services. */
  readonly clusterIPs: readonly IpAddress[]
  readonly ports: readonly ServicePort[]
  readonly externalIPs: readonly IpAddress[]
  /** `status.loadBalancer.ingress[].ip` without those of `ipMode: Proxy`. */
  readonly loadBalancerIPs: readonly IpAddress[]
  /** `spec.loadBalancerClass`: which implementation serves its load balancer addresses; absent if it names none. */
  readonly loadBalancerClass?: string
  /** Sources that may use a load balancer address, from field and annotation; undefined admits every source. */
  readonly loadBalancerSourceRanges: readonly Cidr[] | undefined
  readonly externalTrafficPolicy: TrafficPolicy
  readonly internalTrafficPolicy: TrafficPolicy
  /** 0 if none was allocated. */
  readonly healthCheckNodePort: number
  /** Seconds of `sessionAffinity: ClientIP`; undefined without affinity. */
  readonly affinitySeconds: number | undefined
  readonly publishNotReadyAddresses: boolean
  /** Value of the label `service-proxy-name` of either family; undefined when absent. */
  readonly proxyName: string | undefined
  /** Value of annotation `service.orch.io/ipvs-scheduler`. */
  readonly scheduler: string | undefined
  /** Value of annotation `service.orch.io/proxy-protocol`. */
  readonly proxyProtocol: ProxyProtocol | undefined
}

/** One address of a Service's endpoints. */
export interface Endpoint {
  readonly ip: IpAddress
  /** The DNS name of this endpoint within its headless Service; absent if it has none. */
  readonly hostname?: string
  /** Empty when unknown. */
  readonly nodeName: string
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
  /** Zones that should consume this endpoint (`hints.forZones`); undefined without hints. */
  readonly zoneHints: readonly string[] | undefined
  /** Nodes that should consume this endpoint (`hints.forNodes`); undefined without hints. */
  readonly nodeHints: readonly string[] | undefined
  /** Relative weight; 1 without the annotation `service.orch.io/weight`. */
  readonly weight: number
}

/** A port of endpoints. */
export interface EndpointPort {
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
}

/** One group of endpoints that share ports: an EndpointSlice, or one subset of a v1 Endpoints. */
export interface EndpointGroup {
  readonly family: Family
  readonly ports: readonly EndpointPort[]
  readonly endpoints: readonly Endpoint[]
}

/** The endpoints of a Service in one API object: an EndpointSlice or a v1 Endpoints. */
export interface EndpointSource {
  /** `namespace/name` of the EndpointSlice or Endpoints object. */
  readonly name: string
  readonly service: ServiceKey
  readonly groups: readonly EndpointGroup[]
  /** Annotation `endpoints.kubernetes.io/last-change-trigger-time`, ms since the epoch. */
  readonly triggeredAt: number | undefined
}

/** The fields of its own Node object that a node needs. */
export interface Node {
  readonly name: string
  /** Value of label `topology.kubernetes.io/zone`. */
  readonly zone: string | undefined
  /** InternalIPs first, then ExternalIPs, in the object's order. */
  readonly addresses: readonly IpAddress[]
  readonly podCIDRs: readonly Cidr[]
  /** Being deleted, or tainted `ToBeDeletedByClusterAutoscaler`. */
  readonly leaving: boolean
  /** Has the label `node.kubernetes.io/exclude-from-external-load-balancers`, with any value; absent if not. */
  readonly excludedFromLoadBalancers?: true
}
