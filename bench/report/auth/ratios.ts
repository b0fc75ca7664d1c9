import { ratios } from '../statistics.ts'
import type { Cost, RequestsCell, SubjectName } from './results.ts'

export type RequestName = 'create' | 'get'

/** The server without users that gets the same requests. */
export function baselineOf(subject: SubjectName): SubjectName | undefined {
  if (subject === 'none' || subject === 'ignored') return undefined
  return subject === 'certificate' ? 'none' : 'ignored'
}

/** The rates of a subject divided by those of another; empty if the other was not measured. */
export function rateRatios(
  cell: RequestsCell,
  all: readonly RequestsCell[],
  {
    request,
    against,
  }: { readonly request: RequestName; readonly against: SubjectName | undefined },
): readonly number[] {
  const other: Cost | undefined = all.find(({ subject }) => subject === against)?.[request]
  return ratios(cell[request].perSecond, other?.perSecond ?? [])
}
