import type { BrowserMachine, DaemonCost } from '../browser/results.ts'

/** What the page of a cluster costs, by way of orch-server; results/cluster-page.json. */
export interface ClusterPageResults {
  readonly startedAt: string
  readonly machine: BrowserMachine
  readonly quick: boolean
  /** Per cent of all cores that others used before the first round. */
  readonly busyPercent: number
  readonly nodes: number
  /** Of each node. */
  readonly services: number
  /** The server while nothing changes. Both have the same rounds. */
  readonly without: DaemonCost
  readonly open: DaemonCost
  readonly page: ClusterPageFigures
}

/** One figure for each round, in milliseconds. */
export interface ClusterPageFigures {
  /** From the token until the status of every node is shown. */
  readonly nodesMs: readonly number[]
  /** From its address until a Service is read of every node. */
  readonly serviceMs: readonly number[]
  /** The longest task of the page in all that; 0: none took 50 ms. */
  readonly longestTaskMs: readonly number[]
  /** Time that scripts, styles and layout took for a frame: the 99th percentile. */
  readonly frameP99Ms: readonly number[]
}
