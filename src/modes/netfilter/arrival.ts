import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import { type Member, memberText } from '../../kernel/ipset/sets.ts'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { networksOfSet, type RoleSets } from './role-sets.ts'

/**
 * The roles of the sets that record what happens at an address, protocol and port. Each mode has its own set for each
 * role.
 */
type ArrivalRole = 'SERVICES' | 'RANGED' | 'ALLOWED' | 'REJECT' | 'DROP'

/** The role for each value of `Arrival.unserved`. */
const UNSERVED_ROLES = { reject: 'REJECT', drop: 'DROP' } as const

/**
 * What happens to a new connection that arrives at a frontend, in the modes that select packets by sets instead of
 * translating them in rules. It does not depend on the mode. Each mode records it in sets of its own.
 */
export interface Arrival {
  /** Only these sources are admitted; undefined: every source. */
  readonly sourceRanges: readonly Cidr[] | undefined
  /** What clients get if the pool of the frontend has no backend; undefined if it has one. */
  readonly unserved: 'reject' | 'drop' | undefined
  /** Whether pods, and processes of this node, use the cluster pool instead, because it has a backend. */
  readonly isShortCircuited: boolean
}

/**
 * What happens to a new connection at one frontend of the entry. It is the same at each address of the frontend. If
 * `isShortCircuited`, the cluster pool serves pods, and processes of this node, whatever `unserved` is.
 */
export function arrivalAt(entry: ForwardingEntry, frontend: Frontend): Arrival {
  const { pool, shortCircuit, sourceRanges } = frontend
  return {
    sourceRanges,
    unserved: usableBackends(entry, pool).length > 0 ? undefined : entry.whenEmpty[pool],
    isShortCircuited: shortCircuit && usableBackends(entry, 'cluster').length > 0,
  }
}

/** The backends of a pool that get new connections: those with a weight above 0. */
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

/** An address, protocol and port: the fields of a member of a set of type hash:ip,port. */
export type MemberPoint = Required<Pick<Member, 'ip' | 'protocol' | 'port'>>

/** A point, and the roles of the further sets, known to its mode alone, that have it as a member. */
interface PointInSets<Role extends string> {
  readonly point: MemberPoint
  readonly ownRoles: readonly Role[]
}

/**
 * The members that a point has in the sets of a mode. Those of `ownRoles` come before those of REJECT and DROP. The
 * order in which members are written is that of the mode, which sorts them by role: a pod that takes a short circuit
 * must not be rejected or dropped because its member is added too late. Networks are in the form that ipset accepts
 * (`networksOfSet`).
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
    ...(unserved === undefined ? [] : [UNSERVED_ROLES[unserved]]),
  ]
  const networks = (sourceRanges ?? []).flatMap(networksOfSet)
  return [
    ...roles.map((role) => memberKey(role, memberText(point))),
    ...networks.map((net) => memberKey('ALLOWED', memberText({ ...point, net }))),
  ]
}

/**
 * The members for the TCP port on which this node answers health checks of a Service: one for each of `nodeAddresses`
 * in the family of the entry. Empty if the entry has no such port.
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
 * A rule that drops new connections from sources that a point does not admit: the point is in RANGED, and not in
 * ALLOWED with the source. RANGED is looked up a second time, because the ranges of a point may be removed while the
 * kernel compares a packet with this rule. The first look-up may then find the member of RANGED, and the next one no
 * longer find that of ALLOWED.
 */
export function outsideRanges({ isIn, isNotIn }: RoleSets<'RANGED' | 'ALLOWED'>): string {
  return `${isIn('RANGED')}${isNotIn('ALLOWED', 'dst,dst,src')}${isIn('RANGED')}-j DROP`
}
