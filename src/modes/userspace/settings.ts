import type { IpAddress } from '../../lib/ip.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import type { Balancing } from './route.ts'

/** An address of this machine at which a Service is offered. */
export interface BindAddress {
  readonly ip: IpAddress
  readonly port: number
}

/** `userspace.entry: redirect`: rules bring packets for the addresses of Services here; needs root. */
export interface TransparentListening {
  readonly kind: 'transparent'
  readonly netfilter: NetfilterSettings
  /** This node's addresses that serve node ports, without loopback. */
  readonly nodeAddresses: readonly IpAddress[]
}

/** `userspace.entry: bind`: the forwarder listens at the configured addresses of this machine. */
export interface BoundListening {
  readonly kind: 'bound'
  /** By `bindingKey`; Services without a binding are not served. */
  readonly bindings: ReadonlyMap<string, readonly BindAddress[]>
}

/** Settings of one instance; other settings need a new instance. */
export interface UserspaceSettings {
  readonly listening: TransparentListening | BoundListening
  /** For Services without an annotation for it. */
  readonly balancing: Balancing
}
