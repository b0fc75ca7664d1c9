import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { serverIdOf } from './objects/object.ts'
import { type MarkSettings, markPattern, protocolOf } from './objects/short-circuit-mark.ts'

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

/** How long removed backends keep the connections that they have, in seconds; 0: not at all. */
interface DrainTimes {
  readonly tcp: number
  readonly udp: number
  readonly sctp: number
}

/** What the drain time of a virtual server depends on. */
interface DrainSettings {
  readonly drain: DrainTimes
  /** Says which bits of a mark encode the protocol. */
  readonly netfilter: MarkSettings
}

/** The drain time of the backends that left one virtual server, in milliseconds. */
export function drainMillis(key: ObjectKey, { drain, netfilter }: DrainSettings): number {
  const id = serverIdOf(key)
  const protocol = 'mark' in id ? protocolOf(id.mark, markPattern(netfilter)) : id.protocol
  switch (protocol) {
    case 'TCP':
      return drain.tcp * 1_000
    case 'UDP':
      return drain.udp * 1_000
    case 'SCTP':
      return drain.sctp * 1_000
  }
}
