import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { NetfilterSettings } from '../netfilter/settings.ts'

/** How long removed backends keep the connections they have, in seconds. */
export interface Drain {
  readonly tcp: number
  readonly udp: number
  readonly sctp: number
}

export interface IpvsSettings {
  readonly netfilter: NetfilterSettings
  /** For Services that name none. */
  readonly scheduler: string
  /** This node's addresses that serve node ports, without loopback: each is a virtual server. */
  readonly nodeAddresses: readonly IpAddress[]
  /** Virtual servers in these networks belong to somebody else. */
  readonly excludeCIDRs: readonly Cidr[]
  /** Seconds; 0: as the kernel has it. */
  readonly timeouts: { readonly tcp: number; readonly tcpFin: number; readonly udp: number }
  readonly drain: Drain
}
