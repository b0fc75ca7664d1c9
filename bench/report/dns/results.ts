/** What one run finds out about names; results/dns.json. Times in milliseconds. */
export interface DnsResults {
  readonly startedAt: string
  readonly machine: DnsMachine
  readonly quick: boolean
  /** Per cent of all cores that others used before the first round. */
  readonly busyPercent: number
  /** Two endpoints each. */
  readonly services: number
  readonly measured: Partial<DnsMeasured>
}

export interface DnsMachine {
  readonly cores: number
  readonly kernel: string
  readonly node: string
  readonly dnsperf: string
}

export interface DnsMeasured {
  readonly rates: Rates
  readonly changes: Changes
  readonly burst: Burst
  /** The largest resident memory of the server, after everything. */
  readonly peakKib: number
}

/** One figure for each round. */
export interface Rates {
  readonly echoPerSecond: readonly number[]
  readonly dnsPerSecond: readonly number[]
  /** Questions without an answer, in all rounds. */
  readonly lost: number
  /** Questions per second at which the latencies were measured. */
  readonly halfRate: number
  readonly latencies: Latencies
}

/** Latencies at the same rate in the same round. The latency of the echo shows the part of machine and dnsperf. */
export interface Latencies {
  readonly echo: RoundLatencies
  readonly dns: RoundLatencies
}

/** One figure for each round. */
export interface RoundLatencies {
  readonly p50: number[]
  readonly p99: number[]
}

/** One figure for each replaced endpoint. */
export interface Changes {
  /** From sending it to the API server until the first answer with it. */
  readonly fromWrite: readonly number[]
  /** From the answer of the API server; 0: DNS was faster. */
  readonly fromAnswer: readonly number[]
}

/** The p99 of a client at a steady rate; one figure for each round. */
export interface Burst {
  readonly services: number
  readonly perSecond: number
  readonly quiet: readonly number[]
  readonly disturbed: readonly number[]
}
