import type { ChosenTiming } from '../../../announcement/election-timing.ts'
import type { AffinityScope } from '../../../forwarding/node-context.ts'
import type { Cidr, IpAddress } from '../../../lib/ip.ts'
import type { NetfilterConfiguration } from '../../../modes/netfilter/settings/configuration.ts'
import type * as settings from '../../../settings/field.ts'
import type * as paths from '../../../settings/field.ts'
import type { SocketAddress } from '../../../settings/network-types.ts'
import type { ModeConfiguration } from './mode-registry.ts'

/** The values of `iptables.backend`. */
export const IPTABLES_VARIANTS = ['', 'nft', 'legacy'] as const

/** Which iptables writes the rules; empty: what the machine's `iptables` is. */
export type IptablesVariantChoice = (typeof IPTABLES_VARIANTS)[number]

/** `auto`: where no other program enforces NetworkPolicies and the API server permits it. */
export type EnforcementChoice = boolean | 'auto'

/** The values of `networkPolicy.unknownPods`. */
export const UNKNOWN_PODS = ['allow', 'deny'] as const

/** The values of `networkPolicy.establishedConnections`. */
export const ESTABLISHED_CONNECTIONS = ['cut', 'keep'] as const

/**
 * The daemon's settings, checked and complete: the common ones and those of each mode. Every leaf
 * is described once under the same path, in `fields/` or in the definition of its mode.
 */
export type NodeProxyConfiguration = CommonConfiguration & ModeConfiguration

/** The settings that do not depend on the modes of the build. Times are milliseconds. */
export interface CommonConfiguration extends NetfilterConfiguration {
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
  readonly inspection: {
    /** An absolute path; empty: not served. */
    readonly socket: string
    readonly gid: number
    /** Undefined: not served. */
    readonly pageBindAddress: SocketAddress | undefined
    /** Undefined: not served to other machines. */
    readonly bindAddress: SocketAddress | undefined
    /** Absolute paths; empty: none. */
    readonly tlsCertFile: string
    readonly tlsPrivateKeyFile: string
    readonly clientCAFile: string
  }
  /** The name of a mode of this build, or `auto`; empty means iptables. */
  readonly mode: string
  readonly iptables: NetfilterConfiguration['iptables'] & {
    /** Empty: what the machine's `iptables` is. */
    readonly backend: IptablesVariantChoice
  }
  /** Empty: every externalIP is allowed. */
  readonly allowedExternalIPs: readonly Cidr[]
  readonly affinityScope: AffinityScope
  readonly networkPolicy: {
    readonly enforce: EnforcementChoice
    readonly unknownPods: (typeof UNKNOWN_PODS)[number]
    readonly establishedConnections: (typeof ESTABLISHED_CONNECTIONS)[number]
    readonly logDeniedPerSecond: number
  }
  readonly announcement: ChosenTiming & {
    readonly layer2: boolean
    /** Empty: those with an address of the Node object. */
    readonly interfaces: readonly string[]
    /** Empty: Services without a class. */
    readonly loadBalancerClass: string
    readonly bgp: BgpSettings
  }
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
  readonly logging: { readonly verbosity: number }
}

/** How load balancer addresses are announced to routers. */
export interface BgpSettings {
  /** 0: not set. */
  readonly localASN: number
  /** An IPv4 address; empty: that of the Node object. */
  readonly routerID: string
  readonly holdTime: number
  readonly connectRetry: number
  readonly communities: readonly string[]
  readonly peers: readonly BgpPeerSettings[]
}

/** A router. */
export interface BgpPeerSettings {
  readonly address: IpAddress
  readonly asn: number
  readonly port: number
  /** Empty: the address by which this node reaches the router. */
  readonly sourceAddress: string
  /** Beside those of all routes. */
  readonly communities: readonly string[]
}

/** `iptables.syncPeriod` and so on: every leaf of the configuration. */
export type FieldPath = paths.FieldPath<NodeProxyConfiguration>

/** A field for every leaf of the configuration that `Paths` names. */
export type FieldsOf<Paths extends FieldPath> = settings.FieldsOf<NodeProxyConfiguration, Paths>

/** The paths that start with `Section.`. */
export type PathsUnder<Section extends string> = settings.PathsUnder<
  NodeProxyConfiguration,
  Section
>
