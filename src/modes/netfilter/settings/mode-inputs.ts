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
   * When a port is taken, this kernel (before Linux 5.0) tries the ports that follow a number which clients share. Two
   * connections at the same time then get one port, and the first packet of one is lost. Absent: the kernel begins at
   * a random port.
   */
  readonly searchesPortsInOrder?: boolean
  readonly matchesSockets?: boolean
  /** net.ipv4.conf.all.route_localnet is 1, whichever program set it. */
  readonly routesLocalnet: boolean
}

/** The inputs for the settings of a mode; `C` is the mode's own part of the configuration. */
export interface ModeInputs<C = unknown> {
  readonly config: NetfilterConfiguration & C
  /** Undefined while the API server has no Node object of this node. */
  readonly node: NodeNetworks | undefined
  readonly facts: KernelFacts
  /** The Service ranges of the API server; absent if it reports none. */
  readonly serviceCIDRs?: readonly Cidr[]
  /** The addresses of this node's interfaces, without link-local ones. */
  readonly localAddresses: readonly IpAddress[]
}
