import { type RowRules, type Selection, selectRows } from '../grid/selection.ts'
import type { ServiceRow } from './service-row.ts'

export type SortKey = 'service' | 'status' | 'entries' | 'backends' | 'connections' | 'bytes'

export const ALL_SERVICES: Selection<SortKey> = {
  ...{ text: '', onlyProblems: false },
  ...{ sort: 'service', isDescending: false },
}

/** Columns that hold words. */
export const TEXTS: ReadonlySet<string> = new Set<SortKey>(['service', 'status'])

const RULES: RowRules<ServiceRow, SortKey> = {
  values: {
    service: ({ service }) => service,
    status: ({ status }) => status,
    entries: ({ entries }) => entries,
    backends: ({ backends }) => backends,
    connections: ({ rates }) => rates.connections ?? -1,
    bytes: ({ rates }) => rates.bytes ?? -1,
  },
  textOf: ({ service, status, problem }) => `${service} ${status} ${problem}`,
  isProblem,
}

/** The Services that a selection shows. */
export function selectServices(
  rows: readonly ServiceRow[],
  selection: Selection<SortKey>,
): readonly ServiceRow[] {
  return selectRows(rows, selection, RULES)
}

export function isProblem({ status, problem }: Pick<ServiceRow, 'status' | 'problem'>): boolean {
  return problem !== '' || (status !== 'Done' && status !== '')
}
