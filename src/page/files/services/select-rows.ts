import { hasWords, type Order, sortRows } from '../grid/order.ts'
import type { ServiceRow } from './service-row.ts'

export type SortKey = 'service' | 'status' | 'entries' | 'backends' | 'connections' | 'bytes'

/** Which rows are shown, and in which order. */
export interface Selection extends Order<SortKey> {
  /** Words that the name, the state or the problem has, all of them; case does not count. */
  readonly text: string
  /** Only what is not as it should be. */
  readonly onlyProblems: boolean
}

export const ALL_ROWS: Selection = {
  ...{ text: '', onlyProblems: false },
  ...{ sort: 'service', isDescending: false },
}

/** Columns that hold words. */
export const TEXTS: ReadonlySet<string> = new Set<SortKey>(['service', 'status'])

const VALUES: Readonly<Record<SortKey, (row: ServiceRow) => string | number>> = {
  service: ({ service }) => service,
  status: ({ status }) => status,
  entries: ({ entries }) => entries,
  backends: ({ backends }) => backends,
  connections: ({ rates }) => rates.connections ?? -1,
  bytes: ({ rates }) => rates.bytes ?? -1,
}

/** Rows that are equal in what they are sorted by keep their order. */
export function selectRows(
  rows: readonly ServiceRow[],
  selection: Selection,
): readonly ServiceRow[] {
  const { text, onlyProblems } = selection
  const shown = rows.filter(
    (row) => (!onlyProblems || isProblem(row)) && hasWords(textOf(row), text),
  )
  return sortRows(shown, selection, VALUES)
}

export function isProblem({ status, problem }: ServiceRow): boolean {
  return problem !== '' || (status !== 'Done' && status !== '')
}

function textOf({ service, status, problem }: ServiceRow): string {
  return `${service} ${status} ${problem}`
}
