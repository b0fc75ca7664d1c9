import type { IpAddress } from '../../../lib/ip.ts'
import type { HostFacts } from '../../packet/host-facts.ts'
import type { IpSet } from './ip-set.ts'

/** What rules of xtables look at beside the packet. */
export interface XtablesWorld {
  readonly facts: HostFacts
  /** By name. */
  readonly sets: ReadonlyMap<string, IpSet>
  /**
   * Seconds since the address was last put into a list of `-m recent`; undefined: it is not in the list. Absent: lists were
   * not read, so rules that check them are uncertain.
   */
  readonly lastSeen?: (list: string, ip: IpAddress) => number | undefined
}
