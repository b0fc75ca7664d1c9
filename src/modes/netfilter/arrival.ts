import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'

/**
 * What happens to a new connection that arrives at a frontend, in the modes that select packets by sets instead of
 * translating them in rules. It names no set: each mode has its own sets for it.
 */
export interface Arrival {
  /** Only these sources may enter; undefined: every source. */
  readonly sourceRanges: readonly Cidr[] | undefined
  /** What clients get if the pool of the frontend has no backend; undefined if it has one. */
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

/** The addresses of the given family: a Service is served only at addresses of its own family. */
export function addressesOfFamily(
  addresses: readonly IpAddress[],
  family: Family,
): readonly IpAddress[] {
  return addresses.filter((address) => familyOf(address) === family)
}
