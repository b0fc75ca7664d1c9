import type { Family } from '../../lib/ip.ts'
import type { Branch } from './branch.ts'
import type { Hook, PacketState } from './packet-state.ts'

/** What one table, base chain or IPVS does at a hook. */
export interface HookFunction {
  readonly hook: Hook
  /** The families whose packets it sees. */
  readonly families: readonly Family[]
  /** Smaller numbers run first (linux/netfilter_ipv4.h: raw -300, mangle -150, dstnat -100, filter 0, srcnat 100). */
  readonly priority: number
  /**
   * Whether it decides address translation: then it runs once for each connection and translation, at the hook's place
   * for nat.
   */
  readonly isNat: boolean
  /** At `output`: a packet whose mark it changes is routed again (the mangle table, chains of type route). */
  readonly reroutesMarks?: boolean
  /** Its name for people: `iptables nat PREROUTING`. */
  readonly source: string
  /**
   * The branches of the packet. Never empty; the probabilities sum to 1. `continue` and `accept` both let the packet
   * pass to the next hook function; a nat function that translates does so by `translate`.
   */
  apply(packet: PacketState): readonly Branch[]
}
