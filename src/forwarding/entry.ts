import type { Brand } from '../lib/brand.ts'
import type { Cidr, Family, IpAddress } from '../lib/ip.ts'
import type { Protocol, ProxyProtocol, ServiceKey } from '../resources/types.ts'

/** Exported again for the modes, which may not import `resources`. */
export type { Protocol, ServiceKey } from '../resources/types.ts'

/** `namespace/name:port/protocol/family`, for example `shop/cart:http/TCP/4`. */
export type EntryId = Brand<string, 'EntryId'>

/** `cluster`: all usable endpoints, after topology hints; `local`: those on this node. */
export type Pool = 'cluster' | 'local'

/**
 * Whose packets are masqueraded, so that replies come back through this node. `offCluster`: sources outside the
 * cluster (or everyone with masqueradeAll); `always`: everyone; `onNode`: only the node's own (external traffic under
 * policy Local, where outside clients keep their address).
 */
export type Masquerade = 'offCluster' | 'always' | 'onNode'

/** An address and port on which this node accepts packets for a Service. */
export interface Frontend {
  readonly kind: 'clusterIP' | 'nodePort' | 'externalIP' | 'loadBalancerIP'
  /** `node`: every address of this node that serves node ports. */
  readonly ip: IpAddress | 'node'
  readonly port: number
  /** The pool for packets; with `shortCircuit` only for those from outside the cluster. */
  readonly pool: Pool
  /** Pods of the cluster and processes of this node use the cluster pool although `pool` is local. */
  readonly shortCircuit: boolean
  readonly masquerade: Masquerade
  /** Packets of all other sources are dropped; undefined: every source is admitted. */
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

/** An endpoint to which packets are translated. */
export interface Backend {
  readonly ip: IpAddress
  readonly port: number
  /** The share of new connections relative to other backends; 1 unless the endpoint sets another. */
  readonly weight: number
  /** Whether the endpoint is on this node. */
  readonly local: boolean
}

/** A removed backend, which keeps its connections until `until`, in milliseconds of the clock of `ForwardingTable`. */
export interface DrainingBackend extends Backend {
  readonly until: number
}

/** Session affinity: a client keeps its backend. */
export interface Affinity {
  /** For this time after its last connection. */
  readonly seconds: number
  /**
   * Whether a client's backends at all entries of the Service and family that share clients belong to one Pod; absent
   * if the entry has its own clients.
   */
  readonly isShared?: true
}

/**
 * One Service port of one IP family as this node must forward it. Nothing in it depends on the mode; every
 * mode renders the same entry.
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
  /** What happens to packets for a pool without a backend. */
  readonly whenEmpty: Readonly<Record<Pool, 'reject' | 'drop'>>
  /** Removed backends that keep their connections for a while, sorted by ip and port. */
  readonly draining: readonly DrainingBackend[]
  /** ClientIP affinity; undefined if each connection may get any backend. */
  readonly affinity: Affinity | undefined
  /** The IPVS scheduler that the Service requests; only the ipvs mode reads it. */
  readonly scheduler: string | undefined
  /** The PROXY protocol version in which backends receive the client's address; absent if they do not. */
  readonly proxyProtocol?: ProxyProtocol
  /** The TCP port on which the node answers health checks of the Service; only at the entries of its first Service port. */
  readonly healthCheckPort?: number
  /** Frontends and endpoints of the Service that the compiler rejected; absent if there are none. */
  readonly refused?: readonly RejectedFrontend[]
}

/**
 * Conntrack entries to delete: the flows to one frontend whose backend is not in `keep`; of TCP, only those that nobody
 * has answered so far.
 */
export interface StaleFlows {
  readonly family: Family
  readonly protocol: Protocol
  readonly ip: IpAddress | 'node'
  readonly port: number
  /** `ip:port` (IPv6 in brackets) of the backends that still serve it. */
  readonly keep: ReadonlySet<string>
}

/** What one call changed in the `ForwardingTable`. */
export interface TableDelta {
  readonly upserts: readonly ForwardingEntry[]
  readonly removals: readonly EntryId[]
  readonly staleFlows: readonly StaleFlows[]
}

/** Compares by UTF-16 code units: the order is the same on every node, independent of its locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
