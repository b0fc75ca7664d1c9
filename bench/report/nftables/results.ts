import type { Burst, Changes, FirstPacket, FullSync, Idle, MemoryUse } from '../results.ts'

/** What one run finds out about the nftables mode; results/nftables.json. Milliseconds unless stated. */
export interface NftablesResults {
  readonly startedAt: string
  readonly machine: NftablesMachine
  readonly quick: boolean
  readonly cells: readonly NftablesCell[]
}

export interface NftablesMachine {
  readonly cores: number
  /** `6.18` */
  readonly kernel: string
  readonly node: string
}

/** The figures for a number of Services and of endpoints of each. */
export interface NftablesCell {
  readonly services: number
  readonly endpoints: number
  /** Why figures are missing. */
  readonly unfinished?: string
  readonly measured: Partial<NftablesMeasured>
}

export interface NftablesMeasured {
  readonly fullSync: FullSync
  readonly rawFullSync: RawReplay
  readonly objects: NftablesObjects
  readonly idle: Idle
  readonly firstPacket: FirstPacket
  readonly replace: Changes
  /** One change each, by the raw sender. */
  readonly rawReplace: readonly number[]
  readonly add: Changes
  readonly burst: Burst
  readonly rawBurst: readonly number[]
  readonly memory: MemoryUse
  readonly stall: Stall
  /** Measured at one size only, because packets pass the same rules at all sizes. */
  readonly counting: Counting
}

/** The transactions of a full sync, sent again into an empty namespace. */
export interface RawReplay {
  readonly ms: readonly number[]
  readonly cpuSeconds: readonly number[]
  readonly transactions: number
  readonly bytes: number
  /** The longest time of a single transaction, of each replay. */
  readonly longestMs: readonly number[]
}

/** Microseconds for the round trip of a byte to an endpoint, the median of a turn. */
export interface CountingTurn {
  /** The connection is not to a Service. */
  readonly direct: number
  /** Through a Service. */
  readonly forwarded: number
}

/** Turns without and with `nftables.trafficCounters`. */
export interface Counting {
  readonly without: readonly CountingTurn[]
  readonly with: readonly CountingTurn[]
}

/** What the kernel holds in the tables of the mode, of both families. */
export interface NftablesObjects {
  readonly chains: number
  readonly rules: number
  readonly sets: number
  readonly elements: number
}

/** How long the repeated operations of other programs took. */
export interface Stall {
  /** While nothing else happened. */
  readonly quiet: Waits
  /** From the start of the daemon until it was ready. */
  readonly coldStart: Waits
}

/** A transaction and a list of a table that is not the mode's, and the round trip of a packet. */
export type Waits = Readonly<Record<'transaction' | 'list' | 'packet', Wait>>

/** One number for each round. */
export interface Wait {
  readonly count: readonly number[]
  readonly p99: readonly number[]
  readonly longest: readonly number[]
}
