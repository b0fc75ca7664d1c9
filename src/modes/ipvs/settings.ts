import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import type { DrainTimes } from './drain-time.ts'

/** The settings of the ipvs mode; a change of any field requires a new `IpvsMode`. */
export interface IpvsSettings {
  readonly netfilter: NetfilterSettings
  /** The name of an IPVS scheduler (`rr`), for Services that name none. */
  readonly scheduler: string
  /** This node's addresses that serve node ports, without loopback: each is a virtual server. */
  readonly nodeAddresses: readonly IpAddress[]
  /** Virtual servers in these networks belong to other software: never changed, never created. */
  readonly excludeCIDRs: readonly Cidr[]
  /** Idle times of connections in whole seconds; 0: the kernel's own value stays. */
  readonly timeouts: { readonly tcp: number; readonly tcpFin: number; readonly udp: number }
  readonly drain: DrainTimes
}
