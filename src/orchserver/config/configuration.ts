import type { Limits } from '../../apiserver/context/limits.ts'
import type { AddressPoolSpec } from '../../controllers/loadbalancer/address-pool.ts'
import type { DnsSettings } from '../../dns/dns-fields.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { PortRange } from '../../lib/port-range.ts'
import type { CommandFlags } from '../../settings/table.ts'

/** Flags that are not settings of the configuration file. */
export const COMMAND_FLAGS = {
  config: { value: 'file', doc: 'Configuration file (YAML or JSON). Flags win over it.' },
  replace: {
    doc: 'With the command restore: replace the store that the data directory holds.',
  },
  version: { doc: 'Print the version and exit.' },
  help: { doc: 'Print this and exit.' },
} as const satisfies CommandFlags

/** What an operator decides about orch-server. */
export interface OrchServerConfiguration {
  readonly dataDir: string
  readonly bindAddress: IpAddress
  /**
   * The address at which Pods and other servers reach this server; empty: `bindAddress`, or an address of this
   * machine.
   */
  readonly advertiseAddress: IpAddress | ''
  /** 0: any free port. */
  readonly securePort: number
  readonly kubeconfig: string
  readonly tls: TlsConfiguration
  readonly authentication: AuthenticationConfiguration
  readonly serviceAccounts: ServiceAccountsConfiguration
  readonly kubelet: KubeletConfiguration
  readonly etcd: EtcdConfiguration
  /** The encryption of Secrets in the store; empty: a key file is created in the data directory. */
  readonly encryption: { readonly keyFile: string }
  readonly services: {
    /** One range of each family, the primary one first. */
    readonly clusterIPRange: readonly Cidr[]
    readonly nodePortRange: PortRange
  }
  /** Names of controllers, `*`, and `-name`. */
  readonly controllers: readonly string[]
  readonly loadBalancer: {
    readonly addressPools: readonly AddressPoolSpec[]
    /** Empty: of the Services without a class. */
    readonly loadBalancerClass: string
  }
  /** How fast Pods leave nodes that are out. */
  readonly nodeEviction: {
    /** Nodes of a zone in each second. */
    readonly rate: number
    readonly secondaryRate: number
    /** From 0 to 1. */
    readonly unhealthyShare: number
    /** Nodes of a zone. */
    readonly largeZone: number
  }
  readonly dns: DnsSettings
  readonly sandboxNode: SandboxNodeConfiguration
  /** The page for browsers, below `/page/`. */
  readonly page: { readonly enabled: boolean }
  readonly audit: AuditConfiguration
  readonly limits: Limits
  readonly logging: { readonly verbosity: number }
}

/** Files and names of the serving certificate; no files: the server issues and renews it itself. */
export interface TlsConfiguration {
  readonly certFile: string
  readonly keyFile: string
  readonly extraNames: readonly string[]
}

/** How users authenticate, other than by certificates of this server's own authority. */
export interface AuthenticationConfiguration {
  /** Paths that need no credentials. */
  readonly anonymousPaths: readonly string[]
  /** A file of further authorities whose client certificates are accepted; empty: none. */
  readonly clientCAFile: string
  /** A file of static tokens; empty: none. */
  readonly tokenFile: string
  readonly oidc: OidcConfiguration
}

/** An OpenID Connect provider that manages users; empty issuer: none. */
export interface OidcConfiguration {
  readonly issuerURL: string
  readonly clientID: string
  readonly caFile: string
  readonly usernameClaim: string
  /** Empty: see `OidcOptions.userPrefix`; `-`: none. */
  readonly usernamePrefix: string
  /** Empty: users get no groups from the provider. */
  readonly groupsClaim: string
  readonly groupsPrefix: string
}

/** The tokens of service accounts. */
export interface ServiceAccountsConfiguration {
  /** New tokens name the first one; tokens of the others are also accepted. */
  readonly issuers: readonly string[]
  /** The audiences of this server; empty: the issuers. */
  readonly audiences: readonly string[]
  /** The first key in the file signs; empty: a key is created in the data directory. */
  readonly signingKeyFile: string
  /** Files of further keys whose tokens are accepted. */
  readonly keyFiles: readonly string[]
  /** The longest life of a token that a client requests, in milliseconds; 0: no limit. */
  readonly maxTokenExpiration: number
  /** The URL at which others read the keys; empty: a path below the first issuer. */
  readonly jwksURI: string
}

/** How kubelets are reached for logs, commands, forwarded ports and requests below `nodes/proxy`, and their certificates. */
export interface KubeletConfiguration {
  /** The client certificate and its key; empty: the server issues and renews them itself. */
  readonly clientCertFile: string
  readonly clientKeyFile: string
  /** The authorities of the certificates of kubelets; empty: that of this server, and pinned certificates. */
  readonly caFile: string
  /** Types of addresses, the preferred one first. */
  readonly preferredAddressTypes: readonly string[]
  /** The longest life of a certificate that a kubelet requests, in milliseconds. */
  readonly certificateDuration: number
}

/** No servers: the store is embedded. */
export interface EtcdConfiguration {
  readonly servers: readonly string[]
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  readonly prefix: string
}

/** Which requests are recorded, and where. */
export interface AuditConfiguration {
  /** Empty: nothing is audited. */
  readonly policyFile: string
  /** A file, `-` for standard output, or empty. */
  readonly logPath: string
  /** Size in MiB at which the file is rotated. */
  readonly logMaxMegabytes: number
  /** Number of rotated files that are kept; 0: all. */
  readonly logMaxBackups: number
  /** Days for which rotated files are kept; 0: for ever. */
  readonly logMaxAgeDays: number
  /** A kubeconfig of the server that events are posted to, or empty. */
  readonly webhookConfigFile: string
}

/** The node agent of this process. */
export interface SandboxNodeConfiguration {
  readonly enabled: boolean
  /** Empty: the name of the host. */
  readonly name: string
  /** Empty: those of this machine. */
  readonly addresses: readonly IpAddress[]
  readonly podCIDRs: readonly Cidr[]
  readonly bridge: string
  readonly namespacePrefix: string
  /** DNS servers for Pods, at port 53; empty: `dns.addresses`. */
  readonly clusterDNS: readonly IpAddress[]
  /** The resolv.conf of this machine. */
  readonly resolvConf: string
}
