import type { Limits } from '../../apiserver/context/limits.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { PortRange } from '../../lib/port-range.ts'

/** What an operator decides about orch-server. */
export interface OrchServerConfiguration {
  readonly dataDir: string
  readonly bindAddress: IpAddress
  /** 0: any free port. */
  readonly securePort: number
  readonly kubeconfig: string
  readonly tls: TlsConfiguration
  readonly etcd: EtcdConfiguration
  /** Of Secrets in the store; no file: it is made in the data directory. */
  readonly encryption: { readonly keyFile: string }
  readonly services: {
    /** One range of each family, the primary one first. */
    readonly clusterIPRange: readonly Cidr[]
    readonly nodePortRange: PortRange
  }
  /** Names of controllers, `*`, and `-name`. */
  readonly controllers: readonly string[]
  readonly loadBalancer: {
    /** Networks and ranges of addresses; see `parseAddressPool`. */
    readonly addressPools: readonly string[]
  }
  readonly sandboxNode: SandboxNodeConfiguration
  readonly limits: Limits
  readonly logging: { readonly verbosity: number }
}

/** Files and names of the serving certificate; no files: it is made and renewed here. */
export interface TlsConfiguration {
  readonly certFile: string
  readonly keyFile: string
  readonly extraNames: readonly string[]
}

/** No servers: the store is embedded. */
export interface EtcdConfiguration {
  readonly servers: readonly string[]
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  readonly prefix: string
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
}
