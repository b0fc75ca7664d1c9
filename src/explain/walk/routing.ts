import type { Family, IpAddress } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'

/** What the kernel's routing decision depends on. */
export interface RouteQuery {
  readonly family: Family
  readonly protocol: Protocol
  /** Undefined: the kernel chooses it. */
  readonly src: IpAddress | undefined
  readonly dst: IpAddress
  readonly dstPort: number
  /** Undefined: the packet comes from this node. */
  readonly inInterface: string | undefined
  readonly mark: number
}

/**
 * The answer of the kernel. `dropped`: the source is impossible there (martian, rp_filter) or the route is a
 * blackhole; `unreachable`: the sender gets an ICMP error, or its `connect` fails.
 */
export type RouteAnswer =
  | {
      readonly kind: 'unicast'
      readonly outInterface: string
      readonly gateway: IpAddress | undefined
      /** The source that a local process gets. */
      readonly source: IpAddress | undefined
    }
  | { readonly kind: 'local'; readonly source: IpAddress | undefined }
  | { readonly kind: 'dropped' | 'unreachable'; readonly reason: string }
  | { readonly kind: 'uncertain'; readonly reason: string }

/** Queries routes, policy rules included. */
export interface Routing {
  route(query: RouteQuery): Promise<RouteAnswer>
}
