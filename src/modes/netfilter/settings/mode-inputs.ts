import type { Cidr, Family, IpAddress } from '../../../lib/ip.ts'
import type { NetfilterConfiguration } from './configuration.ts'
import type { NetfilterSettings } from './settings.ts'

/** What modes read of the Node object of this node. */
export interface NodeNetworks {
  readonly addresses: readonly IpAddress[]
  readonly podCIDRs: readonly Cidr[]
}

/** What the daemon found out about this kernel. */
export interface KernelFacts {
  readonly families: readonly Family[]
  readonly hairpin: NetfilterSettings['hairpin']
  /** Rules can choose source ports at random. */
  readonly randomFully: boolean
  /**
   * Where a port is taken, this kernel (before Linux 5.0) tries the ports that follow a number which clients share, so
   * that two connections at once get one port and the first packet of one is lost; absent: it begins at random.
   */
  readonly searchesPortsInOrder?: boolean
  readonly matchesSockets?: boolean
  /** net.ipv4.conf.all.route_localnet is 1, whichever program set it. */
  readonly routesLocalnet: boolean
}

/** What the settings of a mode are made from; `C` is the mode's own part of the configuration. */
export interface ModeInputs<C = unknown> {
  readonly config: NetfilterConfiguration & C
  /** Undefined while the API server has no such Node. */
  readonly node: NodeNetworks | undefined
  readonly facts: KernelFacts
  /** The Service ranges of the API server; absent: it reports none. */
  readonly serviceCIDRs?: readonly Cidr[]
  /** Of this node's interfaces, without link-local ones. */
  readonly localAddresses: readonly IpAddress[]
}
