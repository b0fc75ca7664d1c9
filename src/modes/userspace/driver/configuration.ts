import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { PortRange } from '../../../lib/port-range.ts'
import type { SocketAddress } from '../../../settings/network-types.ts'

/** How packets reach the workers. */
export const USERSPACE_ENTRIES = ['auto', 'redirect', 'bind'] as const

/** What moves the bytes. */
export const DATA_PATHS = ['auto', 'native', 'javascript'] as const

/** How a backend is chosen: in turn, or the one with the fewest connections. */
export const BALANCINGS = ['rr', 'lc'] as const

export type UserspaceEntry = (typeof USERSPACE_ENTRIES)[number]
export type DataPathChoice = (typeof DATA_PATHS)[number]

/** An address of this machine at which the userspace mode serves one port of a Service. */
export interface Binding extends SocketAddress {
  /** `namespace/name` */
  readonly service: ServiceKey
  /** Name or number of the port; absent means the only port of the protocol. */
  readonly portRef?: string
  readonly protocol: 'TCP' | 'UDP'
}

/** The userspace mode's own part of the configuration. Times are milliseconds. */
export interface UserspaceConfiguration {
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
    readonly scheduler: (typeof BALANCINGS)[number]
  }
  /** Undefined: any free port. */
  readonly portRange: PortRange | undefined
  readonly udpIdleTimeout: number
}
