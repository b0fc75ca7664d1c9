import type { MachineFacts } from '../../measure/machine.ts'

/** What policies cost; results/policy.json. Each part comes from one program of bench/policy; undefined: not measured. */
export interface PolicyResults {
  readonly sync?: SyncCosts
  readonly packets?: PacketCosts
  readonly start?: StartTimes
}

interface Conditions {
  readonly startedAt: string
  readonly machine: MachineFacts
}

/** The figures of all rounds. */
export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

/** Full syncs and changes. */
export interface SyncCosts extends Conditions {
  readonly policies: number
  /** Pods of the node. */
  readonly local: number
  readonly rounds: number
  readonly figures: readonly SyncFigure[]
}

export interface SyncFigure {
  /** Pods on other nodes. */
  readonly peers: number
  /** What was measured, with its unit. */
  readonly name: string
  readonly ours: Spread
  /** The same netlink messages, sent again to an empty kernel. */
  readonly raw?: Spread
  readonly factor?: Spread
}

export interface Quartiles {
  readonly median: number
  readonly first: number
  readonly third: number
}

/** Packets between two Pods of a node. */
export interface PacketCosts extends Conditions {
  readonly rounds: number
  readonly services: number
  /** Samples that were measured again, because a packet was lost. */
  readonly repeated: number
  readonly cases: readonly PacketCase[]
}

export interface PacketCase {
  /** The number of policies on each Pod; undefined: there are no tables of policies. */
  readonly policies?: number
  /** Microseconds. */
  readonly connect: PacketFigure
  /** Microseconds, of a byte there and back. */
  readonly roundTrip: PacketFigure
  /** Gbit/s, of one stream. */
  readonly stream: PacketFigure
}

export interface PacketFigure {
  readonly value: Quartiles
  /** To the same round without the tables. */
  readonly ratio: Quartiles
}

/** Pods that start; milliseconds. */
export interface StartTimes extends Conditions {
  readonly pods: number
  readonly rounds: number
  readonly parallel: number
  /** From the network of a Pod until the API server gets its address. */
  readonly reportAfter: number
  readonly settings: readonly SettingTimes[]
}

export interface SettingTimes {
  readonly name: string
  /** From the network of the Pod until a connection works that policies allow. */
  readonly allowed: Times
  /** From sending the address to the API server until then. */
  readonly allowedAfterReport: Times
  /** From the network of the Pod until its first connection, which TCP alone tries again. */
  readonly firstConnection: Times
  /** Undefined: no policy isolates the Pods. */
  readonly forbidden?: ForbiddenPackets
}

/** Undefined: never. */
export interface Times {
  readonly p50?: number
  readonly p99?: number
  readonly most?: number
}

export interface ForbiddenPackets {
  /** Pods with packets that policies do not allow. */
  readonly pods: number
  readonly of: number
  /** From the network of the Pod until the last such packet; undefined: there was none. */
  readonly last?: Times
}
