import type { Branch } from './branch.ts'

/**
 * Adds the probabilities of branches with equal packet and verdict, so that random choices without effect do not
 * multiply the branches; the steps are those of the most likely one. Branches with probability 0 are left out.
 */
export function mergeBranches(branches: readonly Branch[]): readonly Branch[] {
  if (branches.length < 2) return branches
  const merged = new Map<string, Branch>()
  for (const branch of branches) {
    if (branch.probability === 0) continue
    const key = JSON.stringify([branch.verdict, branch.packet])
    const other = merged.get(key)
    merged.set(key, other === undefined ? branch : join(other, branch))
  }
  return [...merged.values()]
}

function join(one: Branch, other: Branch): Branch {
  const likelier = other.probability > one.probability ? other : one
  return { ...likelier, probability: one.probability + other.probability }
}
