import type { Member } from '../../../kernel/ipset/sets.ts'
import { type Cidr, familyOf, type IpAddress } from '../../../lib/ip.ts'

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

/** A network as a set takes it: one of length 0, which no set takes, as its two halves. */
export function networksOfSet(cidr: Cidr): readonly Cidr[] {
  if (!cidr.endsWith('/0')) return [cidr]
  return familyOf(cidr) === 4
    ? (['0.0.0.0/1', '128.0.0.0/1'] as Cidr[])
    : (['::/1', '8000::/1'] as Cidr[])
}
