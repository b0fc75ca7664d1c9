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

/**
 * The kind of local socket: none, a usual one, or one that may answer from addresses that the node does not have
 * (IP_TRANSPARENT).
 */
export type Listening = 'none' | 'usual' | 'transparent'

/** Facts besides the packet that rules may depend on: a snapshot of this network namespace. */
export interface HostFacts {
  /** The type of an address; if an interface is given, only the addresses of that interface count as local. */
  addressType(ip: IpAddress, onInterface?: string): AddressType
  /**
   * The address that MASQUERADE uses for packets that leave through an interface; undefined if it has none. `toward`
   * is the gateway or else the destination in IPv4, always the destination in IPv6.
   */
  masqueradeAddress(outInterface: string, toward: IpAddress): IpAddress | undefined
  /** The kind of local socket that receives packets to `at`; undefined if unknown. */
  listens(protocol: PacketState['protocol'], at: Endpoint): Listening | undefined
  /** Whether packets that come in by this interface are forwarded to others. */
  forwards(family: PacketState['family'], inInterface: string): boolean
  /** Whether addresses of 127.0.0.0/8 are routed by this interface (`route_localnet`). */
  routesLoopback(inInterface: string): boolean
  /** `rp_filter` of an interface in IPv4: 0 none, 1 strict, 2 loose. */
  reversePathFilter(inInterface: string): number
}
