import type { ChainSpec, Rule, Table } from '../objects.ts'
import type { FakeSet } from './fake-set.ts'

/** A rule with the objects that it uses. */
export interface HeldRule {
  readonly rule: Rule
  /** Names of chains, each as often as the rule leads to it. */
  readonly chains: readonly string[]
  readonly sets: readonly string[]
}

/** A chain of the fake kernel. */
export interface FakeChain {
  spec: ChainSpec
  rules: readonly HeldRule[]
  /** The number of verdicts in rules and elements that lead to it. */
  uses: number
  /** What its counters have counted. */
  packets?: bigint
}

/** A table of the fake kernel. */
export interface FakeTable {
  readonly table: Table
  /** The port of the only socket that may change it. */
  owner: number | undefined
  /** Whether it stays when its owner closes. */
  readonly isPersistent: boolean
  readonly chains: Map<string, FakeChain>
  readonly sets: Map<string, FakeSet>
}
