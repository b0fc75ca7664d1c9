import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../../kernel/nftables-monitor/rule-monitor.ts'
import type { Family } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import type { ChainLocation, Table } from './object.ts'

/** Where a mode's chains are, and how they are known as its own. */
export interface OwnedChains {
  /** Begins the name of every chain of the mode and of nothing else; letters and dashes. */
  readonly prefix: string
  /** In the order in which a change is written. */
  readonly tables: readonly Table[]
}

/** What the mode wants. Read again whenever text is needed, so that no rule is kept in memory. */
export interface ChainContents {
  /** The rules of a chain, without `-A CHAIN`; undefined: not wanted (any more). */
  rulesOf(key: ObjectKey): readonly string[] | undefined
  /** The wanted jumps of one built-in chain. */
  jumpsIn(place: ChainLocation): readonly ObjectKey[]
  /**
   * Orders chains of a change that does not fit one commit (500 chains): a chain of a
   * lower rank is written earlier and removed later, so each leads only to lower ones.
   * Jumps of built-in chains come last anyway. By default all are equal.
   */
  rankOf?(chain: string): number
}

/** What a keeper of chains works with, for one mode. */
export interface ChainKeeperOptions extends OwnedChains {
  readonly iptables: Iptables
  readonly monitor: RuleMonitor
  readonly families: readonly Family[]
  readonly contents: ChainContents
}
