import type { Member, SetType } from '../../kernel/ipset/sets.ts'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { memberKey } from './object-key.ts'

/** Members that a set may have at most; an empty set costs the same whatever stands here. */
const MAX_MEMBERS = 1_048_576

/** One set that a mode keeps. */
export interface KeptSet {
  readonly name: string
  readonly type: SetType
  /** The mode's own maintenance sets its members, not its program. */
  readonly isPrivate?: boolean
}

/** What the sets of one role are, in each family. */
export interface RoleSpec extends Pick<SetType, 'type' | 'withMark'>, Pick<KeptSet, 'isPrivate'> {}

/** The sets of a mode in one family: one for each role, which says what it records of its members. */
export interface RoleSets<Role extends string> {
  /** All of them, in the order of the roles. */
  readonly kept: readonly KeptSet[]
  readonly of: (role: Role) => KeptSet
  /** `NPUS-4-SERVICES` */
  readonly name: (role: Role) => string
  /** `member`: as `memberText` of the kernel's sets writes it. */
  readonly memberKey: (role: Role, member: string) => ObjectKey
  /** The match of a rule; `fields` are those of a member, in its order. */
  readonly isIn: (role: Role, fields?: string) => string
  /** The negation of `isIn`. */
  readonly isNotIn: (role: Role, fields?: string) => string
}

/** The sets of each family; `prefix` begins the name of every set of the mode, and of nothing else. */
export function roleSets<Role extends string>(
  prefix: string,
  roles: Readonly<Record<Role, RoleSpec>>,
): Readonly<Record<Family, RoleSets<Role>>> {
  return { 4: setsOfFamily(4, prefix, roles), 6: setsOfFamily(6, prefix, roles) }
}

/** `NPUS-6-…` is of family 6. */
export function familyOfSet(name: string): Family {
  return /^[A-Z]+-6-/.test(name) ? 6 : 4
}

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

function setsOfFamily<Role extends string>(
  family: Family,
  prefix: string,
  roles: Readonly<Record<Role, RoleSpec>>,
): RoleSets<Role> {
  const name = (role: Role) => `${prefix}${family}-${role}`
  const of = (role: Role): KeptSet => {
    const { isPrivate = false, ...type }: RoleSpec = roles[role]
    return { name: name(role), type: { ...type, family, maxElements: MAX_MEMBERS }, isPrivate }
  }
  return {
    kept: (Object.keys(roles) as Role[]).map(of),
    of,
    name,
    memberKey: (role, member) => memberKey(name(role), member),
    isIn: (role, fields = 'dst,dst') => `-m set --match-set ${name(role)} ${fields} `,
    isNotIn: (role, fields = 'dst,dst') => `-m set ! --match-set ${name(role)} ${fields} `,
  }
}
