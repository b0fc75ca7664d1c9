/**
 * The answers of a node-proxy, in the JSON form of its proto file (`proto/inspection`): what has its default value is
 * absent, and numbers of 64 bits are text.
 */
export interface StatusMessage {
  readonly version?: string
  readonly nodeName?: string
  readonly mode?: string
  readonly startedAt?: string
  readonly isReady?: boolean
  readonly reasons?: readonly string[]
  readonly warnings?: readonly string[]
  readonly waitingMs?: string
  readonly programming?: {
    readonly count?: number
    readonly p50Ms?: number
    readonly p99Ms?: number
  }
  readonly driftRepaired?: string
  readonly refusals?: readonly RefusalMessage[]
  readonly problems?: readonly ProblemMessage[]
  readonly services?: number
  readonly entries?: number
  readonly backends?: number
  readonly residentMemory?: string
}

export interface RefusalMessage {
  readonly object?: string
  readonly entries?: readonly string[]
  readonly code?: string
  readonly message?: string
}

export interface ProblemMessage {
  readonly entry?: string
  readonly code?: string
  readonly message?: string
}

/** One line of the list of Services. */
export interface ServiceMessage {
  /** namespace/name */
  readonly service: string
  readonly entries?: number
  readonly backends?: number
  /** Done, Pending, Conflict or Error. */
  readonly status?: string
  readonly problem?: { readonly code?: string; readonly message?: string }
}

export interface EntryMessage {
  readonly id: string
  readonly service?: string
  readonly protocol?: string
  readonly family?: number
  readonly frontends?: readonly FrontendMessage[]
  readonly backends?: readonly BackendMessage[]
  readonly affinitySeconds?: number
  readonly scheduler?: string
  readonly status?: string
}

export interface FrontendMessage {
  readonly kind?: string
  readonly ip?: string
  readonly port?: number
  readonly pool?: string
  readonly masquerade?: string
  readonly sourceRanges?: readonly string[]
  readonly admitsAll?: boolean
}

export interface BackendMessage {
  readonly ip?: string
  readonly port?: number
  readonly weight?: number
  readonly isLocal?: boolean
  readonly inClusterPool?: boolean
  readonly inLocalPool?: boolean
  readonly drainingUntil?: string
}

/** A number that the mode does not count is absent. */
export interface TrafficMessage {
  readonly connections?: string
  readonly connectionsNow?: string
  readonly packetsIn?: string
  readonly bytesIn?: string
  readonly packetsOut?: string
  readonly bytesOut?: string
}

export interface ServiceTrafficMessage {
  readonly service: string
  readonly total?: TrafficMessage
  readonly backends?: readonly BackendTrafficMessage[]
}

export interface BackendTrafficMessage {
  readonly entry?: string
  readonly ip?: string
  readonly port?: number
  readonly traffic?: TrafficMessage
}

export interface ChangeMessage {
  readonly service?: string
  readonly compiledAt?: string
  readonly appliedAt?: string
  readonly objects?: number
  readonly hasFailures?: boolean
}
