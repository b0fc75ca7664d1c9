/** How often masqueraded connections met a TIME_WAIT; results/masquerade.json. */
export interface MasqueradeResults {
  readonly startedAt: string
  readonly machine: MasqueradeMachine
  /** Per cent of all cores that others used before the first cell. */
  readonly busyPercent: number
  readonly cells: readonly MasqueradeCell[]
}

export interface MasqueradeMachine {
  readonly cores: number
  readonly kernel: string
  readonly iptables: string
  readonly node: string
}

/** How many clients connect how often, and whether they bind before. */
export interface Load {
  /** Of all clients together. */
  readonly perSecond: number
  readonly clients: number
  /** Whether bind(2) chooses the source port, before the destination is known; otherwise connect(2) does. */
  readonly binds: boolean
  readonly seconds: number
}

/** What became of the connections of one load through one subject, and what the kernel counted. */
export interface MasqueradeCell extends Load {
  readonly subject: string
  /** As `6.18`; `6.1, User-mode Linux`. */
  readonly kernel: string
  /** From the first connection until the last one was started. */
  readonly tookSeconds: number
  readonly connections: number
  readonly failures: number
  /** Of the connections, all clients together, before they are masqueraded. */
  readonly ports: SourcePorts
  /** `TCPSynRetrans` of the side that connects. */
  readonly repeatedSyns: number
  /** The same repeated SYNs, as read from the devices. */
  readonly causes: Causes
  /** Packets of handshakes that could not be read: causes are complete where it is 0. Undefined: not counted. */
  readonly unreadPackets?: number
  /** `PAWSTimewait` of the endpoints; before Linux 6.16 `PAWSEstab`. */
  readonly rejectedByTimeWait: number
  /** First packets that were dropped since connection tracking had their addresses and ports already. */
  readonly insertFailed: number
  /** `ListenDrops`, `TCPACKSkippedTimeWait` and `TCPTimeWaitOverflow` of the endpoints. */
  readonly listenDrops: number
  readonly skippedAnswers: number
  readonly discardedTimeWaits: number
}

export interface SourcePorts {
  readonly distinct: number
  readonly least: number
  readonly most: number
}

/** What became of the SYN before the repeated one. */
export interface Causes {
  /** It came to an endpoint, which answered with a bare acknowledgement: a TIME_WAIT does. */
  readonly timeWait: CauseCounts
  /** It came to an endpoint, which did not answer. */
  readonly unanswered: CauseCounts
  /** The endpoint accepted it, but its answer was late or lost. */
  readonly answered: CauseCounts
  /** It came to no endpoint. */
  readonly lost: CauseCounts
}

export interface CauseCounts {
  readonly repeatedSyns: number
  /** Connections whose last SYN was sent 0.9 seconds or more after their first one. */
  readonly waits: number
}
