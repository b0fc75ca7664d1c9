/** What one run finds out about the userspace mode; results/userspace.json. */
export interface UserspaceResults {
  readonly startedAt: string
  readonly machine: UserspaceMachine
  readonly quick: boolean
  /** Milliseconds of one measurement of one subject in one round. */
  readonly roundMs: number
  /** Per cent of all cores that others used before the first round. */
  readonly busyPercent: number
  readonly cells: readonly UserspaceCell[]
}

export interface UserspaceMachine {
  readonly cores: number
  readonly kernel: string
  readonly haproxy: string
  readonly nginx: string
  readonly node: string
}

/**
 * `direct`: routed, `dnat`: one rule of iptables. `haproxy-splice`: with splice, `haproxy-auto`: with
 * `option splice-auto`, `haproxy-copy`: without. `native` and `javascript`: the data paths of the
 * userspace mode.
 */
export type SubjectName =
  | 'direct'
  | 'dnat'
  | 'haproxy-splice'
  | 'haproxy-auto'
  | 'haproxy-copy'
  | 'nginx'
  | 'native'
  | 'javascript'

/** One subject. Lists have one figure for each round, the same rounds in all subjects. */
export interface UserspaceCell {
  readonly subject: SubjectName
  /** Why figures are missing. */
  readonly unfinished?: string
  readonly measured: Partial<UserspaceMeasured>
}

export interface UserspaceMeasured {
  /** One connection, and 64. */
  readonly stream: Stream
  readonly streams: Stream
  readonly connections: Connections
  /** On one established connection; from the beginning of a new one. */
  readonly roundTrip: Latency
  readonly firstByte: Latency
  readonly idle: IdleConnections
}

/** 10⁹ bytes from backend to client. */
export interface Stream {
  readonly gigabytesPerSecond: readonly number[]
  /** Processor seconds of the proxy's processes; 0 if there are none. */
  readonly cpuSecondsPerGigabyte: readonly number[]
}

export interface Connections {
  readonly perSecond: readonly number[]
  readonly failures: readonly number[]
}

/** Microseconds. */
export interface Latency {
  readonly p50: readonly number[]
  readonly p99: readonly number[]
  readonly failures: readonly number[]
}

/** Connections that were used once and are then idle. */
export interface IdleConnections {
  readonly connections: number
  readonly failures: readonly number[]
  /** Resident memory of the proxy's processes before the first connection. */
  readonly startKibibytes: readonly number[]
  /** By how much it has grown with the last one, divided by all of them. */
  readonly kibibytesEach: readonly number[]
  /** The same from the 500th to the last. */
  readonly laterKibibytesEach: readonly number[]
  readonly cpuPercent: readonly number[]
}
