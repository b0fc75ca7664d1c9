/** Everything that one run of the benchmark finds out; the JSON in results/. Times in milliseconds. */
export interface Results {
  readonly startedAt: string
  readonly machine: Machine
  readonly quick: boolean
  readonly cells: readonly Cell[]
}

export interface Machine {
  readonly cores: number
  readonly kernel: string
  readonly iptables: string
  readonly node: string
}

/** What the prober itself costs while nothing changes. */
export interface ProbeOverhead {
  readonly microsecondsPerPacket: number
  readonly roundPeriodMs: number
  readonly packetsPerRound: number
}

export type Backend = 'nft' | 'legacy'

/** One size with one iptables variant. */
export interface Cell {
  readonly services: number
  readonly backend: Backend
  /** Why figures are missing. */
  readonly unfinished?: string
  readonly measured: Partial<Measured>
}

export interface Measured {
  readonly fullSync: FullSync
  readonly rawFullSync: RawFullSync
  readonly objects: Objects
  readonly idle: Idle
  readonly probe: ProbeOverhead
  readonly firstPacket: FirstPacket
  readonly replace: Changes
  readonly rawReplace: RawChanges
  readonly add: Changes
  readonly burst: Burst
  readonly rawBurst: RawChanges
  readonly memory: MemoryUse
}

export interface FullSync {
  /** From the start of the launcher until the kernel has everything. */
  readonly fromStart: readonly number[]
  /** From the log record that reports that the cluster is listed. */
  readonly fromListed: readonly number[]
  /** Processor seconds of the daemon and its children until then. */
  readonly cpuSeconds: readonly number[]
}

export interface RawFullSync {
  readonly ms: readonly number[]
  readonly cpuSeconds: readonly number[]
  readonly bytes: number
  /** KiB of the largest iptables-restore. */
  readonly peakKib: number
}

export interface Objects {
  readonly chains: number
  readonly rules: number
  readonly sets: number
}

export interface Idle {
  readonly seconds: number
  readonly cpuPercent: number
  /** Without the busiest five seconds, in which the daemon may have verified everything. */
  readonly quietPercent: number
  /** Per cent of all cores that everything on the machine used, which may distort this cell. */
  readonly machinePercent: number
}

export interface FirstPacket {
  readonly direct: ConnectTime
  readonly first: ConnectTime
  readonly last: ConnectTime
}

/** Microseconds of connect(2). */
export interface ConnectTime {
  readonly p50: number
  readonly p90: number
  readonly connections: number
}

export interface Changes {
  /** From sending the first request until a new connection meets the new endpoint. */
  readonly ms: readonly number[]
  /** From sending the first request until the server's last answer. */
  readonly writeMs: readonly number[]
  readonly cpuSecondsEach: number
}

export interface Burst {
  readonly changes: number
  readonly ms: readonly number[]
  readonly writeMs: readonly number[]
}

export interface RawChanges {
  /** From starting iptables-restore until a new connection meets the new endpoint. */
  readonly ms: readonly number[]
  /** Until it has ended. */
  readonly exitMs: readonly number[]
  readonly cpuSecondsEach: number
}

export interface MemoryUse {
  /** KiB; peaks since the start. */
  readonly afterSync: number
  readonly daemonPeak: number
  readonly daemonResident: number
  readonly daemonAnonymous: number
  readonly heapUsed: number
  readonly largestChild: number
}
