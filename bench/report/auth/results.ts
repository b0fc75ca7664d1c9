/** What one run finds out about authentication and authorization; results/auth.json. */
export interface AuthResults {
  readonly startedAt: string
  readonly machine: AuthMachine
  readonly quick: boolean
  /** Per cent of all cores that others used before the first round. */
  readonly busyPercent: number
  /** Why figures are missing. */
  readonly unfinished?: string
  readonly measured: Partial<AuthMeasured>
}

export interface AuthMachine {
  readonly cores: number
  readonly kernel: string
  readonly node: string
}

export interface AuthMeasured {
  readonly decisions: Decisions
  /** One cell for each subject, the same rounds in all. */
  readonly requests: readonly RequestsCell[]
  readonly flood: Flood
}

/** Questions that RBAC decides in a second; one figure for each round. */
export interface Decisions {
  readonly roles: number
  readonly bindings: number
  /** As the server decides: it finds bindings by their subject. */
  readonly indexedPerSecond: readonly number[]
  /** By a scan of all bindings. */
  readonly scannedPerSecond: readonly number[]
}

/**
 * What a server knows of its clients. `none`: no users. `ignored`: no users either, and each request has a token that
 * the server does not read. `token`: each request has the token of an account. `certificate`: each connection has a
 * client certificate. `audited`: as `token`, and every request is recorded at the level Metadata in a file.
 */
export type SubjectName = 'none' | 'ignored' | 'token' | 'certificate' | 'audited'

export interface RequestsCell {
  readonly subject: SubjectName
  readonly create: Cost
  readonly get: Cost
  /** Audit events that the log could not accept, in all rounds. */
  readonly droppedEvents: number
}

/** One figure for each round. */
export interface Cost {
  readonly perSecond: readonly number[]
  /** Microseconds of the server's processor time for a request, all threads. */
  readonly cpuMicros: readonly number[]
}

/** A client at a steady rate; one figure for each round, in milliseconds. */
export interface Flood {
  readonly requestsPerSecond: number
  /** Connections that send bad tokens. */
  readonly attackers: number
  readonly quiet: Waits
  readonly flooded: Waits
  /** Bad tokens that the server answered in a second. */
  readonly refusedPerSecond: readonly number[]
}

/** From sending a request until its answer is complete. */
export interface Waits {
  readonly p50: readonly number[]
  readonly p99: readonly number[]
}
