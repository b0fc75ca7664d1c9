import type { Family } from '../../lib/ip.ts'

/** A chain that a transaction changed. */
export interface TouchedChain {
  readonly family: Family
  readonly table: string
  /** Undefined for the table itself, so perhaps every chain in it. */
  readonly chain: string | undefined
}

/** A change of packet filter rules; `Touched` is the kind of object that is watched. */
export interface RuleChange<Touched = TouchedChain> {
  /** `unknown`: anything may have changed. */
  readonly touched: readonly Touched[] | 'unknown'
  /** The process that made the change, if the kernel reports it. */
  readonly by: { readonly pid: number; readonly process: string } | undefined
  /** Generation of the rule set after the change, if the kernel counts generations. */
  readonly generation: number | undefined
}

/** What this daemon changed during a hold. */
export interface OwnWork {
  /** The authors of its changes: process ids of the programs that it ran, or netlink ports, whichever the monitor compares. */
  readonly authors: readonly number[]
  /** The largest possible number of COMMITs that took effect; undefined if unknown. */
  readonly commits: number | undefined
}

/** See `RuleMonitor.hold`. */
export interface HoldOptions {
  /** Whether to leave the multicast group during the hold: for transactions of very many rules. */
  readonly unsubscribed?: boolean
}

/** Reports changes of packet filter rules by other processes. */
export interface RuleMonitor<Touched = TouchedChain> {
  /** Calls back for every change by another process; returns a function that stops this. */
  start(onChange: (change: RuleChange<Touched>) => void): () => void
  /**
   * Called before rules are written. Changes are queued until the returned function is called with those of this
   * daemon; then the others are reported. If changes were missed and there were more than those of this daemon, one
   * `unknown` change is reported. Holds may overlap.
   */
  hold(options?: HoldOptions): (own: OwnWork) => void
}
