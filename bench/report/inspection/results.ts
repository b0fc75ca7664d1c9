/** What readers of a node cost its daemon in nftables mode; results/inspection.json. */
export interface InspectionResults {
  readonly startedAt: string
  readonly machine: InspectionMachine
  readonly quick: boolean
  /** Per cent of all cores that others used before the first round. */
  readonly busyPercent: number
  /** Ten endpoints each. */
  readonly services: number
  /** In the order in which a round measures them. */
  readonly readings: readonly Reading[]
  readonly commands: readonly CommandTimes[]
}

export interface InspectionMachine {
  readonly cores: number
  readonly kernel: string
  readonly node: string
}

/**
 * `none`: there is no reader. `page`: each second the status and the entries of one Service, and the changes as they come.
 * `all`: the same with the entries of every Service.
 */
export type ReaderName = 'none' | 'page' | 'all'

/** One reader; one figure for each round. */
export interface Reading {
  readonly reader: ReaderName
  /** From sending the write of an endpoint to the first new connection that meets it, milliseconds. */
  readonly p50: readonly number[]
  readonly p99: readonly number[]
  /** Processor time of the daemon, in per cent of one core, while nothing changes. */
  readonly idlePercent: readonly number[]
  /** The same while endpoints are replaced, milliseconds for each. */
  readonly cpuMsEach: readonly number[]
  /** Resident memory of the daemon at the end of the round. */
  readonly residentKib: readonly number[]
  /** Milliseconds that one reading took, the median of the round; of `none` nothing. */
  readonly answerMs: readonly number[]
}

/** Commands of node-proxy, and `nft list ruleset`: what the kernel holds, without any answer. */
export type CommandName = 'nft' | 'status' | 'entries' | 'explain' | 'doctor' | 'record'

/** One command; milliseconds from its start to its end, one figure for each round. */
export interface CommandTimes {
  readonly name: CommandName
  readonly ms: readonly number[]
}
