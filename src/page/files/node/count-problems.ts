import type { StatusMessage } from '../data/messages.ts'

/** How many things an operator has to look at. */
export function countProblems(status: StatusMessage | undefined): number {
  const { reasons = [], warnings = [], refusals = [], problems = [] } = status ?? {}
  return reasons.length + warnings.length + refusals.length + problems.length
}
