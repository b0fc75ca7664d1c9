import type { Member } from '../../../kernel/ipset/sets.ts'
import type { Cidr, IpAddress } from '../../../lib/ip.ts'

/** The inverse of ipset's words for a member; marks are not part of them. */
export function parseMember(text: string): Member {
  const [ip = '', service, net] = text.split(',')
  if (service === undefined) return { ip: ip as IpAddress }
  const [protocol = '', port] = service.split(':')
  return {
    ip: ip as IpAddress,
    protocol: protocol.toUpperCase() as Member['protocol'] & string,
    port: Number(port),
    ...(net === undefined ? {} : { net: net as Cidr }),
  }
}
