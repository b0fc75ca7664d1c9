import type { Cidr, Family, IpAddress } from '../../../lib/ip.ts'
import type { NetfilterConfiguration } from './configuration.ts'
import type { NodePortScope } from './node-port-scope.ts'

/** How packets of pods are recognised; at most one CIDR per family. */
export type LocalTraffic =
  | { readonly by: 'source'; readonly cidrs: readonly Cidr[] }
  | { readonly by: 'bridge'; readonly name: string }
  | { readonly by: 'interfacePrefix'; readonly prefix: string }
  | { readonly by: 'none' }

/** What the NAT rules that all Services share depend on besides the entries. */
export interface NetfilterSettings {
  /** 0–31; the mark is `1 << masqueradeBit`. */
  readonly masqueradeBit: number
  /** Masquerade every packet to a ClusterIP, from any source. */
  readonly masqueradeAll: boolean
  readonly localTraffic: LocalTraffic
  readonly nodePortScope: NodePortScope
  /** IPv4 only: serve node ports on the loopback addresses in scope (needs route_localnet=1). */
  readonly localhostNodePorts: boolean
  /** IPv4 only: drop foreign packets for 127.0.0.0/8, because route_localnet is or will be 1. */
  readonly dropMartians: boolean
  /** Drop packets that conntrack calls invalid instead of forwarding them un-NATed. */
  readonly dropInvalid: boolean
  /** Masqueraded connections get a random source port; false: they keep their client's port if it is free. */
  readonly randomFully: boolean
  /** How a pod's connection to itself through a VIP is recognised; see `postrouting.ts`. */
  readonly hairpin: 'bpf' | 'rules'
  /** Whether rules can match packets that have a socket (xt_socket); absent if they cannot. */
  readonly matchesSockets?: boolean
  /** Count connections, packets and bytes of each Service; absent: nothing is counted. Only the nftables mode reads it. */
  readonly countsTraffic?: true
  /** Networks of Services in which addresses and ports that no Service has are refused; absent if none are known. */
  readonly serviceRanges?: readonly Cidr[]
  readonly families: readonly Family[]
}

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
