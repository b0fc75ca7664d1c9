import type { Affinity, Backend, EntryId, ServiceKey } from '../../forwarding/entry.ts'
import type { Cidr, Family, IpAddress } from '../../lib/ip.ts'

/** Protocols that sockets of this process can forward; SCTP is not among them. */
export type RouteProtocol = 'TCP' | 'UDP'

/** `pods`: this node's pods and processes; `others`: all other clients. */
export type Side = 'pods' | 'others'

/** An address at which clients find a Service. */
export interface RouteListener {
  readonly ip: IpAddress
  readonly port: number
  /** The pool that a client gets, by the side that it comes from. */
  readonly pools: Readonly<Record<Side, 'cluster' | 'local'>>
  /** Undefined admits everyone. Clients outside the ranges are dropped. */
  readonly sourceRanges: readonly Cidr[] | undefined
}

/** Version of the PROXY protocol header that a backend gets at the start of each connection. */
export type ProxyProtocol = 'v1' | 'v2'

/** How a backend is chosen: in turn, or the one with the fewest connections. */
export type Balancing = 'rr' | 'lc'

/**
 * One Service port of one family as the data path forwards it: plain data, which
 * goes to every worker as it is.
 */
export interface Route {
  readonly id: EntryId
  /** The Service for which its traffic is counted. */
  readonly service: ServiceKey
  readonly protocol: RouteProtocol
  readonly family: Family
  readonly listeners: readonly RouteListener[]
  readonly pools: Readonly<Record<'cluster' | 'local', readonly Backend[]>>
  readonly balancing: Balancing
  readonly affinity: Affinity | undefined
  readonly proxyProtocol: ProxyProtocol | undefined
}
