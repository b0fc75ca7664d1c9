import type { Brand } from '../lib/brand.ts'
import type { Cidr, Family, IpAddress } from '../lib/ip.ts'
import type { Protocol, ProxyProtocol, ServiceKey } from '../resources/types.ts'

/** For the modes, which know entries and not resources. */
export type { Protocol, ServiceKey } from '../resources/types.ts'

/** `namespace/name:port/protocol/family`, for example `shop/cart:http/TCP/4`. */
export type EntryId = Brand<string, 'EntryId'>

/** `cluster`: every usable endpoint (after topology); `local`: those on this node. */
export type Pool = 'cluster' | 'local'

/**
 * Whose packets are masqueraded, so that replies come back through this node:
 * `offCluster` sources outside the cluster (or everyone with masqueradeAll);
 * `always`; `onNode` only the node's own (external traffic under policy Local,
 * where outside clients keep their address).
 */
export type Masquerade = 'offCluster' | 'always' | 'onNode'

export interface Frontend {
  readonly kind: 'clusterIP' | 'nodePort' | 'externalIP' | 'loadBalancerIP'
  /** `node`: every address of this node that serves node ports. */
  readonly ip: IpAddress | 'node'
  readonly port: number
  /** Where packets from outside the node's pods go. */
  readonly pool: Pool
  /** Pods and processes of this node use the cluster pool although `pool` is local. */
  readonly shortCircuit: boolean
  readonly masquerade: Masquerade
  /** Undefined: everyone; otherwise all other sources are dropped. */
  readonly sourceRanges: readonly Cidr[] | undefined
}

/** Why a frontend or endpoint is not served; `docs/errors.md` describes each code. */
export type ProblemCode =
  | 'NP_FORWARDING_CONFLICT'
  | 'NP_FORWARDING_CLUSTER_IP_OF_OTHER'
  | 'NP_FORWARDING_SPECIAL_ADDRESS'
  | 'NP_FORWARDING_NOT_ALLOWED'
  | 'NP_FORWARDING_FAMILY_NOT_SERVED'
  | 'NP_FORWARDING_DUPLICATE_PORT'

/** A frontend or endpoint that the compiler rejected. */
export interface RejectedFrontend {
  readonly kind: Frontend['kind'] | 'endpoint'
  readonly ip: IpAddress | 'node'
  readonly port: number
  readonly code: ProblemCode
  /** One sentence with the field, the value and the remedy. */
  readonly message: string
}

export interface Backend {
  readonly ip: IpAddress
  readonly port: number
  /** 1 unless the endpoint sets another. */
  readonly weight: number
  readonly local: boolean
}

/** A backend that left: it keeps its connections until `until` (ms since the epoch). */
export interface DrainingBackend extends Backend {
  readonly until: number
}

/**
 * One Service port of one family as this node must forward it. It knows no
 * iptables, no IPVS and no socket; every mode renders the same entry.
 */
export interface ForwardingEntry {
  readonly id: EntryId
  readonly service: ServiceKey
  readonly portName: string
  readonly protocol: Protocol
  readonly family: Family
  /** Sorted by kind, ip and port; no two claim the same ip:port of a protocol. */
  readonly frontends: readonly Frontend[]
  /** Active backends of each pool, sorted by ip and port. */
  readonly pools: Readonly<Record<Pool, readonly Backend[]>>
  /** What a client meets when the pool that it was sent to has no backend. */
  readonly whenEmpty: Readonly<Record<Pool, 'reject' | 'drop'>>
  readonly draining: readonly DrainingBackend[]
  readonly affinity: { readonly seconds: number } | undefined
  readonly scheduler: string | undefined
  /** The PROXY protocol version in which backends receive the client's address; absent: none. */
  readonly proxyProtocol?: ProxyProtocol
  /** The node answers health checks of the Service on this TCP port; on its first entry only. */
  readonly healthCheckPort?: number
  /** Frontends of the Service that the compiler rejected; absent: none. */
  readonly refused?: readonly RejectedFrontend[]
}

/** Conntrack entries to delete: flows to a frontend whose backend is not in `keep`. */
export interface StaleFlows {
  readonly family: Family
  readonly protocol: Protocol
  readonly ip: IpAddress | 'node'
  readonly port: number
  /** `ip:port` (IPv6 in brackets) of the backends that still serve it. */
  readonly keep: ReadonlySet<string>
}

/** What changed in the ForwardingTable. */
export interface TableDelta {
  readonly upserts: readonly ForwardingEntry[]
  readonly removals: readonly EntryId[]
  readonly staleFlows: readonly StaleFlows[]
}
