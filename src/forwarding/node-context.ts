import type { Cidr, Family, IpAddress } from '../lib/ip.ts'
import type { Protocol } from '../resources/types.ts'

/** What the compiler knows of the node that it compiles for. */
export interface NodeContext {
  readonly name: string
  /** Undefined: zone hints are ignored. */
  readonly zone: string | undefined
  /** This node's own addresses. */
  readonly addresses: Readonly<Record<Family, readonly IpAddress[]>>
  /** externalIPs outside these networks are refused; undefined allows every one. */
  readonly allowedExternalIPs: readonly Cidr[] | undefined
  /** Only Services with this `service-proxy-name`; undefined: only Services without one. */
  readonly proxyName: string | undefined
  /** How long a backend that left keeps its connections; 0: it is forgotten at once. */
  readonly drainSeconds: Readonly<Record<Protocol, number>>
}
