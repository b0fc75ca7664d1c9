import type { Member, SetType } from '../../kernel/ipset/sets.ts'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { memberKey } from './object-key.ts'

/** The limit of members of each set. The kernel allocates nothing for it in advance. */
const MAX_MEMBERS = 1_048_576

/** One set that a mode keeps. */
export interface KeptSet {
  readonly name: string
  readonly type: SetType
  /** Its members are written by the mode itself, and are not part of the mode's program. */
  readonly isPrivate?: boolean
}

/** The type of the sets of one role; it is the same in each family. */
export interface RoleSpec extends Pick<SetType, 'type' | 'withMark'>, Pick<KeptSet, 'isPrivate'> {}

/** The sets of a mode in one family, one for each role. The role says what membership means. */
export interface RoleSets<Role extends string> {
  /** All sets, in the order of the roles. */
  readonly kept: readonly KeptSet[]
  readonly of: (role: Role) => KeptSet
  /** `NPUS-4-SERVICES` */
  readonly name: (role: Role) => string
  /** `member`: in the format of `memberText`. */
  readonly memberKey: (role: Role, member: string) => ObjectKey
  /** The match for a rule. `fields`: which address or port of the packet each field of a member is compared with. */
  readonly isIn: (role: Role, fields?: string) => string
  /** The negation of `isIn`. */
  readonly isNotIn: (role: Role, fields?: string) => string
}

/** The sets of both families. The names of all sets of the mode begin with `prefix`, and no other name does. */
export function roleSets<Role extends string>(
  prefix: string,
  roles: Readonly<Record<Role, RoleSpec>>,
): Readonly<Record<Family, RoleSets<Role>>> {
  return { 4: setsOfFamily(4, prefix, roles), 6: setsOfFamily(6, prefix, roles) }
}

/** The family that the name of a set contains, for example 6 in `NPUS-6-SERVICES`. */
export function familyOfSet(name: string): Family {
  return /^[A-Z]+-6-/.test(name) ? 6 : 4
}

/** Reads a member as `ipset` prints it, without its mark. */
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

/** The networks to add to a set for one network: a set refuses networks of length 0, so these are added as two halves. */
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
