import type { IpAddress } from '../../lib/ip.ts'
import type { Endpoint, PacketState } from './packet-state.ts'

/** The type of an address by the routing tables, as in `-m addrtype` and `fib daddr type`. */
export type AddressType =
  | 'unspecified'
  | 'unicast'
  | 'local'
  | 'broadcast'
  | 'anycast'
  | 'multicast'
  | 'blackhole'
  | 'unreachable'
  | 'prohibit'
  | 'throw'

/** A local socket: none, a usual one, or one that may answer from addresses that the node does not have (IP_TRANSPARENT). */
export type Listening = 'none' | 'usual' | 'transparent'

/** What rules may depend on beside the packet: a snapshot of this network namespace. */
export interface HostFacts {
  /** The type of an address; of its addresses on one interface only, if an interface is given. */
  addressType(ip: IpAddress, onInterface?: string): AddressType
  /**
   * The address that MASQUERADE takes for packets that leave by an interface; undefined: it has none. `toward` is the
   * gateway or else the destination in IPv4, always the destination in IPv6.
   */
  masqueradeAddress(outInterface: string, toward: IpAddress): IpAddress | undefined
  /** Which local socket takes packets to `at`; undefined: not known. */
  listens(protocol: PacketState['protocol'], at: Endpoint): Listening | undefined
  /** Whether packets that come in by this interface are forwarded to others. */
  forwards(family: PacketState['family'], inInterface: string): boolean
  /** Whether addresses of 127.0.0.0/8 are routed by this interface (`route_localnet`). */
  routesLoopback(inInterface: string): boolean
  /** `rp_filter` of an interface in IPv4: 0 none, 1 strict, 2 loose. */
  reversePathFilter(inInterface: string): number
  /** Whether answers to the packet's source would leave by its interface (rpfilter); absent, undefined: not known. */
  readonly reversePath?: (packet: PacketState) => boolean | undefined
}
