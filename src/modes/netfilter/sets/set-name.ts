import type { Family } from '../../../lib/ip.ts'

/** Members that a set may have at most; an empty set costs the same whatever stands here. */
export const MAX_MEMBERS = 1_048_576

/** `NPUS-4-SERVICES`: the prefix of a mode, the family, and what the set says of its members. */
export function nameSet(prefix: string, family: Family, role: string): string {
  return `${prefix}${family}-${role}`
}

/** `NPUS-6-…` is of family 6. */
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
