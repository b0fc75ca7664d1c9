import type { Cidr, IpAddress } from '../lib/ip.ts'
import type { SocketAddress } from '../settings/network-types.ts'
import type { Upstream } from './forward/upstream/upstream.ts'

/** What an operator decides about names of Services, in every program that answers them. */
export interface DnsSettings {
  /** Where questions are answered, over UDP and TCP; none: nowhere. */
  readonly addresses: readonly SocketAddress[]
  readonly domain: string
  /** The addresses under which clients know the server: those of its own name. */
  readonly serverAddresses: readonly IpAddress[]
  readonly clientNetworks: readonly Cidr[]
  readonly amplifiedBytesPerSecond: number
  readonly forward: {
    /** Servers that are queried for other names. */
    readonly upstreams: readonly Upstream[]
    /** A file that lists them; empty: none. */
    readonly resolvConf: string
  }
}
