import { median } from '../statistics.ts'
import type { SubjectName, UserspaceCell, UserspaceMeasured } from './results.ts'

/** One list of figures, and the subject with whose figures it is compared. */
export interface Compared {
  readonly pick: (measured: Partial<UserspaceMeasured>) => readonly number[] | undefined
  readonly against: SubjectName
}

/**
 * HAProxy with `option splice-auto` copies even long streams, so comparisons of streams are with an HAProxy that always
 * splices.
 */
export const FOR_STREAMS: SubjectName = 'haproxy-splice'
export const FOR_MESSAGES: SubjectName = 'haproxy-auto'

/** Figures divided by those of the same round of the other subject, so that slow rounds are slow for both. */
export function ratios(
  cell: UserspaceCell,
  all: readonly UserspaceCell[],
  { pick, against }: Compared,
): readonly number[] {
  const reference = all.find(({ subject }) => subject === against)
  const theirs = (reference && pick(reference.measured)) ?? []
  const ours = pick(cell.measured) ?? []
  return ours.slice(0, theirs.length).map((figure, round) => figure / (theirs[round] ?? Number.NaN))
}

/** Undefined if one of them has no figure. */
export function medianRatio(
  cell: UserspaceCell,
  all: readonly UserspaceCell[],
  compared: Compared,
): number | undefined {
  const found = ratios(cell, all, compared)
  return found.length === 0 ? undefined : median(found)
}
