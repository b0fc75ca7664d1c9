import type { ForwardingEntry } from '../../../forwarding/entry.ts'
import { type Member, memberText } from '../../../kernel/ipset/sets.ts'
import { type Cidr, familyOf, type IpAddress } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import { type Arrival, addressesOfFamily } from './arrival.ts'

/** The sets that record what happens at an address, protocol and port. Each mode has its own of them. */
export type ArrivalRole = 'SERVICES' | 'RANGED' | 'ALLOWED' | 'REJECT' | 'DROP'

/** An address, protocol and port as a set has them. */
export type MemberPoint = Required<Pick<Member, 'ip' | 'protocol' | 'port'>>

/** The key of a member of the set with a role, of the family of the entry. */
export type MemberKeyOf<Role extends string> = (role: Role, member: string) => ObjectKey

/** The members that a point has in the sets of a mode. */
export function arrivalMembers(
  { sourceRanges, unserved }: Arrival,
  point: MemberPoint,
  keyOf: MemberKeyOf<ArrivalRole>,
): readonly ObjectKey[] {
  const text = memberText(point)
  const networks = (sourceRanges ?? []).flatMap(networksOfSet)
  return [
    keyOf('SERVICES', text),
    ...(sourceRanges === undefined ? [] : [keyOf('RANGED', text)]),
    ...(unserved === 'reject' ? [keyOf('REJECT', text)] : []),
    ...(unserved === 'drop' ? [keyOf('DROP', text)] : []),
    ...networks.map((net) => keyOf('ALLOWED', memberText({ ...point, net }))),
  ]
}

/** The members for the port at which this node answers health checks of a Service. */
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

/** A network as a set takes it: one of length 0, which no set takes, as its two halves. */
export function networksOfSet(cidr: Cidr): readonly Cidr[] {
  if (!cidr.endsWith('/0')) return [cidr]
  return familyOf(cidr) === 4
    ? (['0.0.0.0/1', '128.0.0.0/1'] as Cidr[])
    : (['::/1', '8000::/1'] as Cidr[])
}
