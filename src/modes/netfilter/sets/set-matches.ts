/** Pieces of rules that match sets; `fields` are those of a member, in its order. */
export function setMatches<Role>(nameOf: (role: Role) => string) {
  return {
    isIn: (role: Role, fields = 'dst,dst') => `-m set --match-set ${nameOf(role)} ${fields} `,
    isNotIn: (role: Role, fields = 'dst,dst') => `-m set ! --match-set ${nameOf(role)} ${fields} `,
  }
}
