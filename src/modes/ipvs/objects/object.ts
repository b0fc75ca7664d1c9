import { type Member, memberText } from '../../../kernel/ipset/sets.ts'
import {
  type IpvsProtocol,
  type VirtualServerId,
  virtualServerKey,
} from '../../../kernel/ipvs/ipvs.ts'
import { type Family, type IpAddress, splitHostPort } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import { memberOf } from '../../netfilter/object-key.ts'
import { familyOfSet, parseMember } from '../../netfilter/role-sets.ts'
import { SETS, type SetRole } from './names.ts'

/** `vs/4/tcp/10.96.0.1:80`, `vs/6/tcp/[fd00::1]:80` or `vs/4/mark/2751463428`. */
export function serverKey(id: VirtualServerId): ObjectKey {
  return `vs/${virtualServerKey(id)}` as ObjectKey
}

/** `relay/tcp/30080`: the relay that listens at this port of 127.0.0.1. */
export function relayKey(protocol: 'TCP' | 'UDP', port: number): ObjectKey {
  return `relay/${protocol.toLowerCase()}/${port}` as ObjectKey
}

/** Whether a `vs` key names a virtual server by its mark instead of an address. */
export function isMarked(key: ObjectKey): boolean {
  return key.startsWith('mark/', 'vs/4/'.length)
}

/** The virtual server that a `vs` key names; the inverse of `serverKey`. */
export function serverIdOf(key: ObjectKey): VirtualServerId {
  const [, family, protocol = '', name = ''] = /^vs\/([46])\/(\w+)\/(.+)$/.exec(key) ?? []
  const of = { family: family === '6' ? 6 : 4 } as const
  if (protocol === 'mark') return { ...of, mark: Number(name) }
  return { ...of, protocol: protocol.toUpperCase() as IpvsProtocol, ...addressOf(name) }
}

/** The address of a name: `10.0.0.1:80` or `[fd00::1]:80`. */
export function addressOf(name: string): { readonly ip: IpAddress; readonly port: number } {
  const { host = '', port } = splitHostPort(name) ?? {}
  return { ip: host as IpAddress, port: Number(port) }
}

/** An address, protocol and port that a Service can be reached at. */
export type Point = Exclude<VirtualServerId, { readonly mark: number }>

/** `10.96.0.1,tcp:80`: the point as a member of our sets. */
export function pointText({ ip, protocol, port }: Point): string {
  return memberText({ ip, protocol, port })
}

/** The point that a member of a set of this family names; undefined if the member is only an address. */
function pointOf(family: Family, member: Member): Point | undefined {
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
