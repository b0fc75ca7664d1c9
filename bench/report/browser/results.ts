/** What the page of a node costs, in nftables mode; results/page.json. */
export interface BrowserResults {
  readonly startedAt: string
  readonly machine: BrowserMachine
  readonly quick: boolean
  /** Per cent of all cores that others used before the first round. */
  readonly busyPercent: number
  /** Ten endpoints each. */
  readonly services: number
  /** The daemon while nothing changes. Both have the same rounds. */
  readonly without: DaemonCost
  readonly open: DaemonCost
  /** The browser, one figure for each round. */
  readonly scrolling: Scrolling
}

export interface BrowserMachine {
  readonly cores: number
  readonly kernel: string
  readonly node: string
}

/** One figure for each round. */
export interface DaemonCost {
  /** Processor time of the daemon and its children, in per cent of one core. */
  readonly cpuPercent: readonly number[]
  /** At the end of the round. */
  readonly residentKib: readonly number[]
}

export interface Scrolling {
  /** From opening the page until its rows are there, milliseconds. */
  readonly openMs: readonly number[]
  /** Time that the page's scripts, styles and layout took for a frame, while all rows pass: the 99th percentile. */
  readonly frameP99Ms: readonly number[]
  /** Tasks of more than 50 ms meanwhile. */
  readonly longTasks: readonly number[]
}
