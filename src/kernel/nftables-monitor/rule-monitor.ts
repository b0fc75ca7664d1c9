import type { Family } from '../../lib/ip.ts'

export interface TouchedChain {
  readonly family: Family
  readonly table: string
  /** Undefined: the table itself, so perhaps every chain in it. */
  readonly chain: string | undefined
}

export interface RuleChange {
  /** `unknown`: anything may have changed. */
  readonly touched: readonly TouchedChain[] | 'unknown'
  /** The process that made it, where the kernel reports it. */
  readonly by: { readonly pid: number; readonly process: string } | undefined
  /** Number of the rule set after the change, where the kernel counts. */
  readonly generation: number | undefined
}

/** What we did ourselves during a hold. */
export interface OwnWork {
  /** Process ids of our programs. */
  readonly pids: readonly number[]
  /** COMMITs that took effect at most; undefined: unknown. */
  readonly commits: number | undefined
}

export interface HoldOptions {
  /** Leave the multicast group during the hold: for transactions of very many rules. */
  readonly unsubscribed?: boolean
}

/** Reports changes of packet filter rules by other processes. */
export interface RuleMonitor {
  /** Calls back for every change that is not ours; the result stops it. */
  start(onChange: (change: RuleChange) => void): () => void
  /**
   * Before writing rules: changes wait until the returned function names those
   * that were ours; the rest is then reported. If changes were missed and more
   * happened than we did, that is reported as `unknown`. Holds may overlap.
   */
  hold(options?: HoldOptions): (own: OwnWork) => void
}
