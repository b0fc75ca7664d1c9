import type { ForwardingEntry } from '../../forwarding/entry.ts'
import { type Member, memberText } from '../../kernel/ipset/sets.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { ObjectKey, TrafficNumbers } from '../mode.ts'
import { type Arrival, addressesOfFamily } from './arrival.ts'
import { networksOfSet } from './set-text.ts'

/** The sets that record what happens at an address, protocol and port. Each mode has its own of them. */
type ArrivalRole = 'SERVICES' | 'RANGED' | 'ALLOWED' | 'REJECT' | 'DROP'

const SET_OF_ANSWER = { reject: 'REJECT', drop: 'DROP' } as const

/** An address, protocol and port as a set has them. */
export type MemberPoint = Required<Pick<Member, 'ip' | 'protocol' | 'port'>>

/** The key of a member of the set with a role, of the family of the entry. */
type MemberKeyOf<Role extends string> = (role: Role, member: string) => ObjectKey

/** A point, and the further sets of its mode that have it as a member. */
interface PointInSets<Role extends string> {
  readonly point: MemberPoint
  readonly ownRoles: readonly Role[]
}

/**
 * The members that a point has in the sets of a mode, in the order in which they are added. Those of `ownRoles` come
 * before REJECT and DROP, so that a pod whose short circuit is about to be added is neither rejected nor dropped.
 * Networks are written as ipset takes them (`networksOfSet`).
 */
export function arrivalMembers<Role extends string>(
  { sourceRanges, unserved }: Arrival,
  { point, ownRoles }: PointInSets<Role>,
  keyOf: MemberKeyOf<ArrivalRole | Role>,
): readonly ObjectKey[] {
  const roles: readonly (ArrivalRole | Role)[] = [
    'SERVICES',
    ...(sourceRanges === undefined ? [] : (['RANGED'] as const)),
    ...ownRoles,
    ...(unserved === undefined ? [] : [SET_OF_ANSWER[unserved]]),
  ]
  const networks = (sourceRanges ?? []).flatMap(networksOfSet)
  return [
    ...roles.map((role) => keyOf(role, memberText(point))),
    ...networks.map((net) => keyOf('ALLOWED', memberText({ ...point, net }))),
  ]
}

/**
 * The members for the TCP port at which this node answers health checks of a Service, one for each of `nodeAddresses`
 * of its family; empty if the entry has no such port.
 */
export function healthCheckMembers(
  { family, healthCheckPort: port }: ForwardingEntry,
  nodeAddresses: readonly IpAddress[],
  keyOf: MemberKeyOf<'ADMIT'>,
): readonly ObjectKey[] {
  if (port === undefined) return []
  return addressesOfFamily(nodeAddresses, family).map((ip) =>
    keyOf('ADMIT', memberText({ ip, protocol: 'TCP', port })),
  )
}

/** The sum of two readings of the same counters; `to` is undefined before the first reading. */
export function addNumbers(to: TrafficNumbers | undefined, more: TrafficNumbers): TrafficNumbers {
  if (to === undefined) return more
  const names = Object.keys(more) as (keyof TrafficNumbers)[]
  return Object.fromEntries(
    names.map((name) => [name, (to[name] ?? 0) + (more[name] ?? 0)] as const),
  )
}
