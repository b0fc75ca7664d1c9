import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'

/**
 * What happens to a new connection that arrives at a frontend, as every mode decides it that takes
 * packets by sets instead of translating them in rules. It names no set: a mode makes its own of it.
 */
export interface Arrival {
  /** Only these sources may enter; undefined: every source. */
  readonly sourceRanges: readonly Cidr[] | undefined
  /** The pool of the frontend has no backend, and this is what clients meet; undefined: it has one. */
  readonly unserved: 'reject' | 'drop' | undefined
  /** Pods and processes of this node take the cluster pool, which has a backend. */
  readonly isShortCircuited: boolean
}

/**
 * What a new connection meets at one frontend of the entry, at each of its addresses alike. Where
 * `isShortCircuited`, the cluster pool serves pods and processes of this node, whatever `unserved` is.
 */
export function arrivalAt(entry: ForwardingEntry, frontend: Frontend): Arrival {
  const { pool, shortCircuit, sourceRanges } = frontend
  return {
    sourceRanges,
    unserved: usableBackends(entry, pool).length > 0 ? undefined : entry.whenEmpty[pool],
    isShortCircuited: shortCircuit && usableBackends(entry, 'cluster').length > 0,
  }
}

/** The backends of a pool that get new connections: those of a weight above 0. */
export function usableBackends({ pools }: ForwardingEntry, pool: Pool): readonly Backend[] {
  return pools[pool].filter(({ weight }) => weight > 0)
}

/** A Service is served at every address of its own family only. */
export function addressesOfFamily(
  addresses: readonly IpAddress[],
  family: Family,
): readonly IpAddress[] {
  return addresses.filter((address) => familyOf(address) === family)
}
