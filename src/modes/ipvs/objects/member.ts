import { type Member, memberText } from '../../../kernel/ipset/sets.ts'
import type { VirtualServerId } from '../../../kernel/ipvs/ipvs.ts'
import type { Family } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import { memberOf } from '../../netfilter/object-key.ts'
import { familyOfSet, parseMember } from '../../netfilter/role-sets.ts'
import { SETS, type SetRole } from './names.ts'
import { serverIdOf, serverKey } from './object.ts'

/** An address, protocol and port that a Service can be reached at. */
export type Point = Exclude<VirtualServerId, { readonly mark: number }>

/** `10.96.0.1,tcp:80`: the point as a member of our sets. */
export function pointText({ ip, protocol, port }: Point): string {
  return memberText({ ip, protocol, port })
}

/** The point that a member of a set of this family names; undefined if the member is only an address. */
export function pointOf(family: Family, member: Member): Point | undefined {
  const { ip, protocol, port } = member
  return protocol === undefined || port === undefined ? undefined : { family, protocol, ip, port }
}

/** The member of LEAVING for a virtual server with an address; empty for one with a mark. */
export function leavingKey(server: ObjectKey): readonly ObjectKey[] {
  return inSet(server, 'LEAVING')
}

/** The member of SERVICES that records a virtual server with an address as ours; empty for one with a mark. */
export function servicesKey(server: ObjectKey): readonly ObjectKey[] {
  return inSet(server, 'SERVICES')
}

function inSet(server: ObjectKey, role: SetRole): readonly ObjectKey[] {
  const id = serverIdOf(server)
  return 'mark' in id ? [] : [SETS[id.family].memberKey(role, pointText(id))]
}

/** The virtual server at the point that a member is about; undefined if the member names no point. */
export function serverOfMember(key: ObjectKey): ObjectKey | undefined {
  const { set, member } = memberOf(key)
  const point = pointOf(familyOfSet(set), parseMember(member))
  return point && serverKey(point)
}
