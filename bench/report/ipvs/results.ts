import type { FirstPacket, Idle, MemoryUse } from '../results.ts'

/** What one run finds out about the ipvs mode; results/ipvs.json. Milliseconds unless stated. */
export interface IpvsResults {
  readonly startedAt: string
  readonly machine: IpvsMachine
  readonly quick: boolean
  readonly cells: readonly IpvsCell[]
}

/** The machine whose kernel has ip_vs. */
export interface IpvsMachine {
  readonly cores: number
  /** `6.1` */
  readonly kernel: string
  readonly isUserMode: boolean
  readonly ipvsadm: string
  readonly node: string
}

/** One size. */
export interface IpvsCell {
  readonly services: number
  /** Why figures are missing. */
  readonly unfinished?: string
  /** Per cent of all cores that other processes used meanwhile, on the machine that runs the kernel. */
  readonly othersPercent?: number
  readonly measured: Partial<IpvsMeasured>
}

export interface IpvsMeasured {
  readonly fullSync: IpvsFullSync
  readonly rawFullSync: RawFill
  readonly idle: Idle
  readonly replace: Timed
  readonly add: Timed
  readonly burst: TimedBurst
  readonly rawReplace: readonly number[]
  readonly rawAdd: readonly number[]
  readonly rawBurst: readonly number[]
  readonly watch: WatchLatency
  readonly clear: Clear
  /** `ipvsadm -C` and `ipvsadm --restore`, one after the other. */
  readonly rawClear: readonly number[]
  readonly memory: MemoryUse
  readonly firstPacket: FirstPacket
  /** The same connections through the iptables mode, legacy variant, in the same kernel. */
  readonly iptables: IptablesBeside
}

export interface IpvsFullSync {
  /** From the start of the launcher until the kernel has everything. */
  readonly fromStart: readonly number[]
  /** From the log record that reports that the cluster is listed. */
  readonly fromListed: readonly number[]
  readonly cpuSeconds: readonly number[]
}

export interface RawFill {
  /** The minimal sender, by netlink. */
  readonly sender: readonly number[]
  readonly messages: number
  readonly senderCpuSeconds: readonly number[]
  readonly senderPeakKib: number
  /** `ipvsadm --restore` of the same, into an empty kernel. */
  readonly ipvsadm: readonly number[]
}

/** Changes one after the other; the lists belong together. */
export interface Timed {
  /** From sending the first request until the kernel has it. */
  readonly fromSent: readonly number[]
  /** From the server's last answer. */
  readonly fromAnswered: readonly number[]
  readonly cpuSecondsEach: number
}

export interface TimedBurst extends Timed {
  readonly changes: number
}

/** A write at the API server until a client that only watches has the event. */
export interface WatchLatency {
  readonly fromSent: readonly number[]
  readonly fromAnswered: readonly number[]
}

/** Another process deletes every virtual server. */
export interface Clear {
  /** From the end of `ipvsadm -C` to the daemon's log record about it. */
  readonly toNotice: readonly number[]
  /** From that record until every virtual server has been restored. */
  readonly toRepair: readonly number[]
}

export interface IptablesBeside {
  readonly firstPacket: FirstPacket
  readonly fromStart: number
}
