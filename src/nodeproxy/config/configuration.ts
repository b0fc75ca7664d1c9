import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { PortRange } from '../../lib/port-range.ts'
import type { ServiceKey } from '../../resources/types.ts'
import type { SocketAddress } from '../../settings/network-types.ts'

/** The modes that a configuration may name; which of them exist is the build's business. */
export const MODE_NAMES = ['', 'iptables', 'ipvs', 'userspace', 'nftables', 'auto'] as const

export const DETECT_LOCAL_MODES = [
  '',
  'ClusterCIDR',
  'NodeCIDR',
  'BridgeInterface',
  'InterfaceNamePrefix',
] as const

export const SCHEDULERS = [
  '',
  'rr',
  'wrr',
  'lc',
  'wlc',
  'lblc',
  'lblcr',
  'sh',
  'dh',
  'sed',
  'nq',
  'fo',
  'ovf',
  'mh',
] as const

export const IPTABLES_BACKENDS = ['', 'nft', 'legacy'] as const

/** How packets reach the userspace mode. */
export const USERSPACE_ENTRIES = ['auto', 'redirect', 'bind'] as const

/** What moves the bytes in userspace mode. */
export const DATA_PATHS = ['auto', 'native', 'javascript'] as const

export const BALANCINGS = ['rr', 'lc'] as const

export type ModeName = (typeof MODE_NAMES)[number]
export type DetectLocalMode = (typeof DETECT_LOCAL_MODES)[number]
export type Scheduler = (typeof SCHEDULERS)[number]
export type IptablesBackend = (typeof IPTABLES_BACKENDS)[number]
export type UserspaceEntry = (typeof USERSPACE_ENTRIES)[number]
export type DataPathChoice = (typeof DATA_PATHS)[number]
export type Balancing = (typeof BALANCINGS)[number]

/** An address of this machine at which the userspace mode serves one port of a Service. */
export interface Binding extends SocketAddress {
  /** `namespace/name` */
  readonly service: ServiceKey
  /** Name or number of the port; absent: the only one of the protocol. */
  readonly portRef?: string
  readonly protocol: 'TCP' | 'UDP'
}

/**
 * The daemon's settings, checked and complete. Every leaf is described once, in
 * `fields/`, under the same path. Times are milliseconds.
 */
export interface NodeProxyConfiguration {
  readonly clientConnection: {
    readonly kubeconfig: string
    readonly qps: number
    readonly burst: number
  }
  readonly hostnameOverride: string
  readonly proxyName: string
  readonly bindAddress: IpAddress
  /** Undefined: not served. */
  readonly healthzBindAddress: SocketAddress | undefined
  /** Undefined: not served. */
  readonly metricsBindAddress: SocketAddress | undefined
  readonly bindAddressHardFail: boolean
  /** Empty: iptables. */
  readonly mode: ModeName
  readonly iptables: {
    readonly masqueradeBit: number
    readonly masqueradeAll: boolean
    readonly localhostNodePorts: boolean
    readonly syncPeriod: number
    readonly minSyncPeriod: number
    /** Empty: what the machine's `iptables` is. */
    readonly backend: IptablesBackend
  }
  readonly ipvs: {
    readonly syncPeriod: number
    readonly minSyncPeriod: number
    /** Empty: rr. */
    readonly scheduler: Scheduler
    readonly excludeCIDRs: readonly Cidr[]
    readonly strictARP: boolean
    readonly tcpTimeout: number
    readonly tcpFinTimeout: number
    readonly udpTimeout: number
    /** How long a backend that left keeps its connections; 0: it loses them at once. */
    readonly gracefulTermination: {
      readonly tcp: number
      readonly udp: number
      readonly sctp: number
    }
  }
  readonly userspace: {
    readonly entry: UserspaceEntry
    readonly bindMap: readonly Binding[]
    readonly dataPath: DataPathChoice
    /** 0: one for each processor, at most 8. */
    readonly workers: number
    /** 0: as many as open files allow. */
    readonly maxConnections: number
    /** 0: half of all. */
    readonly maxConnectionsPerClient: number
    readonly connectTimeout: number
    readonly retryTimeout: number
    readonly connectAttempts: number
    /** 0: never. */
    readonly idleTimeout: number
    readonly gracefulTermination: number
    readonly shutdownTimeout: number
    readonly affinityClients: number
    readonly syncPeriod: number
    readonly minSyncPeriod: number
    readonly scheduler: Balancing
  }
  /** Empty: ClusterCIDR. */
  readonly detectLocalMode: DetectLocalMode
  readonly detectLocal: {
    readonly bridgeInterface: string
    readonly interfaceNamePrefix: string
  }
  /** None, one, or one of each family. */
  readonly clusterCIDR: readonly Cidr[]
  /** Empty: every address of the node; `primary`: the node object's own addresses. */
  readonly nodePortAddresses: readonly Cidr[] | 'primary'
  /** Empty: every externalIP is allowed. */
  readonly allowedExternalIPs: readonly Cidr[]
  readonly oomScoreAdj: number
  readonly conntrack: {
    readonly maxPerCore: number
    readonly min: number
    readonly tcpEstablishedTimeout: number
    readonly tcpCloseWaitTimeout: number
    readonly tcpBeLiberal: boolean
    readonly udpTimeout: number
    readonly udpStreamTimeout: number
  }
  /** Undefined: any free port. */
  readonly portRange: PortRange | undefined
  readonly udpIdleTimeout: number
  readonly logging: { readonly verbosity: number }
}
