import type { Member } from '../../kernel/ipset/sets.ts'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'

/** The maximum number of members of a set; it does not change the size of an empty set. */
export const MAX_MEMBERS = 1_048_576

/** Parses a member as ipset writes it; without marks. */
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

/** A network as a set accepts it: a network of length 0, which no set accepts, is split into its two halves. */
export function networksOfSet(cidr: Cidr): readonly Cidr[] {
  if (!cidr.endsWith('/0')) return [cidr]
  return familyOf(cidr) === 4
    ? (['0.0.0.0/1', '128.0.0.0/1'] as Cidr[])
    : (['::/1', '8000::/1'] as Cidr[])
}

/** `NPUS-4-SERVICES`: the prefix of a mode, the family, and the role of the set. */
export function nameSet(prefix: string, family: Family, role: string): string {
  return `${prefix}${family}-${role}`
}

/** The family in a set's name: `NPUS-6-…` is of family 6. */
export function familyOfSet(name: string): Family {
  return /^[A-Z]+-6-/.test(name) ? 6 : 4
}

/** Pieces of rules that match sets; `fields` are those of a member, in its order. */
export function setMatches<Role>(nameOf: (role: Role) => string) {
  return {
    isIn: (role: Role, fields = 'dst,dst') => `-m set --match-set ${nameOf(role)} ${fields} `,
    isNotIn: (role: Role, fields = 'dst,dst') => `-m set ! --match-set ${nameOf(role)} ${fields} `,
  }
}
