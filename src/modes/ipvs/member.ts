import { memberText } from '../../kernel/ipset/member-text.ts'
import type { Member } from '../../kernel/ipset/sets.ts'
import type { VirtualServerId } from '../../kernel/ipvs/ipvs.ts'
import type { Cidr, Family, IpAddress } from '../../lib/ip.ts'

/** An address, protocol and port that a Service can be reached at. */
export type Point = Exclude<VirtualServerId, { readonly mark: number }>

/** `10.96.0.1,tcp:80`: the point as a member of our sets. */
export function pointText({ ip, protocol, port }: Point): string {
  return memberText({ ip, protocol, port })
}

/** The inverse of ipset's words for a member; marks are not part of them. */
export function parseMember(text: string): Member {
  const [ip = '', service, net] = text.split(',')
  if (service === undefined) return { ip: ip as IpAddress }
  const [protocol = '', port] = service.split(':')
  return {
    ip: ip as IpAddress,
    protocol: protocol.toUpperCase() as Point['protocol'],
    port: Number(port),
    ...(net === undefined ? {} : { net: net as Cidr }),
  }
}

export function pointOf(family: Family, member: Member): Point | undefined {
  const { ip, protocol, port } = member
  return protocol === undefined || port === undefined ? undefined : { family, protocol, ip, port }
}
