import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import { type Member, memberText } from '../../kernel/ipset/sets.ts'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { networksOfSet, type RoleSets } from './role-sets.ts'

/** The sets that record what happens at an address, protocol and port. Each mode has its own of them. */
type ArrivalRole = 'SERVICES' | 'RANGED' | 'ALLOWED' | 'REJECT' | 'DROP'

const SET_OF_ANSWER = { reject: 'REJECT', drop: 'DROP' } as const

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

/** An address, protocol and port as a set has them. */
export type MemberPoint = Required<Pick<Member, 'ip' | 'protocol' | 'port'>>

/** A point, and the further sets of its mode that have it as a member. */
interface PointInSets<Role extends string> {
  readonly point: MemberPoint
  readonly ownRoles: readonly Role[]
}

/**
 * The members that a point has in the sets of a mode, in the order in which they are added: those of
 * `ownRoles` before REJECT and DROP, so that no pod is rejected or dropped whose short circuit is about
 * to be added. Networks are written as ipset takes them (`networksOfSet`).
 */
export function arrivalMembers<Role extends string>(
  { sourceRanges, unserved }: Arrival,
  { point, ownRoles }: PointInSets<Role>,
  { memberKey }: Pick<RoleSets<ArrivalRole | Role>, 'memberKey'>,
): readonly ObjectKey[] {
  const roles: readonly (ArrivalRole | Role)[] = [
    'SERVICES',
    ...(sourceRanges === undefined ? [] : (['RANGED'] as const)),
    ...ownRoles,
    ...(unserved === undefined ? [] : [SET_OF_ANSWER[unserved]]),
  ]
  const networks = (sourceRanges ?? []).flatMap(networksOfSet)
  return [
    ...roles.map((role) => memberKey(role, memberText(point))),
    ...networks.map((net) => memberKey('ALLOWED', memberText({ ...point, net }))),
  ]
}

/**
 * The members for the TCP port at which this node answers health checks of a Service, one for each of
 * `nodeAddresses` of its family; none: the entry has no such port.
 */
export function healthCheckMembers(
  { family, healthCheckPort: port }: ForwardingEntry,
  nodeAddresses: readonly IpAddress[],
  { memberKey }: Pick<RoleSets<'ADMIT'>, 'memberKey'>,
): readonly ObjectKey[] {
  if (port === undefined) return []
  return addressesOfFamily(nodeAddresses, family).map((ip) =>
    memberKey('ADMIT', memberText({ ip, protocol: 'TCP', port })),
  )
}

/**
 * Drops new connections from sources that a point does not admit. RANGED is looked up again, because a packet that is at
 * work while the ranges of its point are taken away may have met it before and ALLOWED after that.
 */
export function outsideRanges({ isIn, isNotIn }: RoleSets<'RANGED' | 'ALLOWED'>): string {
  return `${isIn('RANGED')}${isNotIn('ALLOWED', 'dst,dst,src')}${isIn('RANGED')}-j DROP`
}
