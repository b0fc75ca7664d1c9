import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../../kernel/nftables/rule-monitor.ts'
import type { Family } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import type { ChainLocation, Table } from './object.ts'

/** The tables with a mode's chains, and the prefix by which they are recognised. */
export interface OwnedChains {
  /** The prefix of the names of the mode's chains, which no other chain has; letters and dashes. */
  readonly prefix: string
  /** In the order in which a change is written. */
  readonly tables: readonly Table[]
}

/** What the mode wants. It is read again whenever text is needed, so that no rule is kept in memory. */
export interface ChainContents {
  /** The rules of a chain, without `-A CHAIN`; undefined if it is not wanted (any more). */
  rulesOf(key: ObjectKey): readonly string[] | undefined
  /** The wanted jumps of one built-in chain. */
  jumpsIn(place: ChainLocation): readonly ObjectKey[]
  /**
   * Orders chains of a change that does not fit one commit (500 chains): a chain of a lower rank is written earlier
   * and removed later, so each chain leads only to lower ones. Jumps of built-in chains always come last. By default
   * all ranks are equal.
   */
  rankOf?(chain: string): number
}

/** The options of a chain keeper for one mode. */
export interface ChainKeeperOptions extends OwnedChains {
  readonly iptables: Iptables
  readonly monitor: RuleMonitor
  readonly families: readonly Family[]
  readonly contents: ChainContents
}
