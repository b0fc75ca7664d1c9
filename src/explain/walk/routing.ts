import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'

/** The inputs of the kernel's routing decision. */
export interface RouteQuery {
  readonly family: Family
  /** Undefined if the kernel compares no rule with protocol and port, as for packets that IPVS sends. */
  readonly protocol: Protocol | undefined
  /** Undefined if the kernel chooses it. */
  readonly src: IpAddress | undefined
  readonly dst: IpAddress
  /** 0 if it is not known, or not compared. */
  readonly dstPort: number
  /** Undefined if the packet comes from this node. */
  readonly inInterface: string | undefined
  readonly mark: number
}

/** A route or policy rule that leads nowhere. */
export interface DeadEnd {
  readonly where: 'route' | 'policy rule'
  /** The text of its program: `unreachable 10.1.0.0/16 table 7`, `priority 60`. */
  readonly object: string
}

/**
 * The kernel's answer. `dropped`: the source is impossible at this interface (martian, rp_filter), or the route is a
 * blackhole; `unreachable`: the sender of a forwarded packet gets an ICMP error, unless its interface does not
 * forward.
 */
export type RouteAnswer =
  | {
      readonly kind: 'unicast'
      readonly outInterface: string
      readonly gateway: IpAddress | undefined
      /** The source address that a local process gets. */
      readonly source: IpAddress | undefined
    }
  | { readonly kind: 'local'; readonly source: IpAddress | undefined }
  | { readonly kind: 'dropped'; readonly reason: string; readonly deadEnd?: DeadEnd }
  | {
      readonly kind: 'unreachable'
      /** What the ICMP error says. */
      readonly how: 'no-route' | 'host-unreachable' | 'prohibited'
      readonly reason: string
      readonly deadEnd?: DeadEnd
    }
  | { readonly kind: 'uncertain'; readonly reason: string }

/** Queries routes, including policy rules. */
export interface Routing {
  route(query: RouteQuery): Promise<RouteAnswer>
}

/**
 * The interface through which packets of a source arrive: the one through which replies to it leave. Empty if the
 * source is an address of this node; undefined without a route to it.
 */
export async function arrivalInterface(
  routing: Routing,
  src: IpAddress,
): Promise<string | undefined> {
  const answer = await routing.route({
    family: familyOf(src),
    protocol: 'TCP',
    src: undefined,
    dst: src,
    dstPort: 0,
    inInterface: undefined,
    mark: 0,
  })
  if (answer.kind === 'local') return ''
  return answer.kind === 'unicast' ? answer.outInterface : undefined
}
