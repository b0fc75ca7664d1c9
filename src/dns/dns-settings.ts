import type { Cidr, IpAddress } from '../lib/ip.ts'
import type { SocketAddress } from '../settings/network-types.ts'
import type { Upstream } from './forward/upstream/upstream.ts'

/** What an operator decides about names of Services, in every program that answers them. */
export interface DnsSettings {
  /** Where questions are answered, over UDP and TCP; empty: nowhere. */
  readonly addresses: readonly SocketAddress[]
  readonly domain: string
  /** The addresses at which clients reach the server; they are answered for its own name. */
  readonly serverAddresses: readonly IpAddress[]
  readonly clientNetworks: readonly Cidr[]
  readonly amplifiedBytesPerSecond: number
  readonly forward: {
    /** Servers that are queried for other names. */
    readonly upstreams: readonly Upstream[]
    /** A resolv.conf file that lists further ones; empty: none. */
    readonly resolvConf: string
  }
}
