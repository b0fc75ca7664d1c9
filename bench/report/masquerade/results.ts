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

/** How many clients connect, how often, and whether they bind first. */
export interface Load {
  /** Of all clients together. */
  readonly perSecond: number
  readonly clients: number
  /** Whether bind(2) chooses the source port, before the destination is known; otherwise connect(2) does. */
  readonly binds: boolean
  readonly seconds: number
}

/** The outcomes of the connections of one load through one subject, and the counters of the kernel. */
export interface MasqueradeCell extends Load {
  readonly subject: string
  /** As `6.18`; `6.1, User-mode Linux`. */
  readonly kernel: string
  /** From the first connection until the last one was started. */
  readonly tookSeconds: number
  readonly connections: number
  readonly failures: number
  /** Source ports of the connections of all clients, before masquerading. */
  readonly ports: SourcePorts
  /** `TCPSynRetrans` of the connecting side. */
  readonly repeatedSyns: number
  /** The causes of the same repeated SYNs, from the packets on the devices. */
  readonly causes: Causes
  /** Packets of handshakes that could not be read; 0: causes are complete. Undefined: not counted. */
  readonly unreadPackets?: number
  /** `PAWSTimewait` of the endpoints; before Linux 6.16 `PAWSEstab`. */
  readonly rejectedByTimeWait: number
  /**
   * First packets that were dropped because connection tracking already had an entry with their addresses and ports.
   */
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

/** What happened to the SYN before the repeated one. */
export interface Causes {
  /** It reached an endpoint, which answered with a bare acknowledgement, as for a TIME_WAIT. */
  readonly timeWait: CauseCounts
  /** It reached an endpoint, which did not answer. */
  readonly unanswered: CauseCounts
  /** The endpoint accepted it, but its answer was late or lost. */
  readonly answered: CauseCounts
  /** It reached no endpoint. */
  readonly lost: CauseCounts
}

export interface CauseCounts {
  readonly repeatedSyns: number
  /** Connections whose last SYN was sent 0.9 seconds or more after their first one. */
  readonly waits: number
}
