import type { Cidr } from '../../../lib/ip.ts'

/** The values of `detectLocalMode`, as Kubernetes names them; empty: ClusterCIDR. */
export const DETECT_LOCAL_MODES = [
  '',
  'ClusterCIDR',
  'NodeCIDR',
  'BridgeInterface',
  'InterfaceNamePrefix',
] as const

export type DetectLocalMode = (typeof DETECT_LOCAL_MODES)[number]

/** The values of `iptables.masqueradePorts`; `auto`: see `netfilterSettings`. */
export const MASQUERADE_PORTS = ['auto', 'keep', 'random'] as const

export type MasqueradePorts = (typeof MASQUERADE_PORTS)[number]

/**
 * What every mode reads of the daemon's configuration: the part that does not depend on the mode.
 * The fields under `iptables` are named as Kubernetes names them; they hold for all modes.
 */
export interface NetfilterConfiguration {
  readonly iptables: {
    /** 0–31; the mark is `1 << masqueradeBit`. */
    readonly masqueradeBit: number
    readonly masqueradeAll: boolean
    /** The source port that a masqueraded connection gets. */
    readonly masqueradePorts: MasqueradePorts
    readonly localhostNodePorts: boolean
  }
  /** Empty: ClusterCIDR. */
  readonly detectLocalMode: DetectLocalMode
  readonly detectLocal: {
    readonly bridgeInterface: string
    readonly interfaceNamePrefix: string
  }
  /** None, one, or one of each family. */
  readonly clusterCIDR: readonly Cidr[]
  /** Empty: every address of the node; `primary`: the Node object's own addresses. */
  readonly nodePortAddresses: readonly Cidr[] | 'primary'
  /** Service ranges to use instead of those of the API server; if empty, those of the API server are used. */
  readonly serviceCIDRs: readonly Cidr[] | 'none'
  readonly conntrack: { readonly tcpBeLiberal: boolean }
}
