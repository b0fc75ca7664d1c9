/** What one run finds out about the figures that users care about; results/promise.json. */
export interface PromiseResults {
  readonly startedAt: string
  readonly machine: PromiseMachine
  readonly quick: boolean
  /** Per cent of all cores that others used before the first figure. */
  readonly busyPercent: number
  readonly tookSeconds: number
  readonly figures: readonly Figure[]
}

export interface PromiseMachine {
  readonly cores: number
  readonly kernel: string
  readonly node: string
  readonly iptables: string
  readonly haproxy: string
  readonly kubernetes: string
}

/** One figure of this project, beside those of others in the same run. All samples are in `unit`. */
export interface Figure {
  /** What is measured, of how many objects. */
  readonly what: string
  readonly unit: string
  /** Digits after the point. */
  readonly digits: number
  readonly better: 'less' | 'more'
  /** node-proxy in nftables mode, orch-dns or orch-server. */
  readonly ours: readonly number[]
  /** node-proxy in iptables mode. */
  readonly iptables?: readonly number[]
  readonly peer?: Other
  /** What does the same without a program that decides, so that nobody can be better. */
  readonly limit?: Other
}

export interface Other {
  readonly name: string
  readonly samples: readonly number[]
}
