import type { ServiceRow } from './service-row.ts'

export type SortKey = 'service' | 'status' | 'entries' | 'backends' | 'connections' | 'bytes'

/** Which rows are shown, and in which order. */
export interface Selection {
  /** Words that the name, the state or the problem has, all of them; case does not count. */
  readonly text: string
  /** Only what is not as it should be. */
  readonly onlyProblems: boolean
  readonly sort: SortKey
  readonly isDescending: boolean
}

export const ALL_ROWS: Selection = {
  ...{ text: '', onlyProblems: false },
  ...{ sort: 'service', isDescending: false },
}

type Value = string | number

const VALUES: Readonly<Record<SortKey, (row: ServiceRow) => Value>> = {
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
  const { text, onlyProblems, sort, isDescending } = selection
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = rows.filter((row) => (!onlyProblems || isProblem(row)) && hasAll(row, words))
  const valueOf = VALUES[sort]
  const direction = isDescending ? -1 : 1
  return shown.toSorted((a, b) => direction * compare(valueOf(a), valueOf(b)))
}

export function isProblem({ status, problem }: ServiceRow): boolean {
  return problem !== '' || (status !== 'Done' && status !== '')
}

/** What a click on a heading makes of the order: names rise first, numbers fall first. */
export function sortedBy(selection: Selection, sort: SortKey): Selection {
  const isText = sort === 'service' || sort === 'status'
  const isDescending = selection.sort === sort ? !selection.isDescending : !isText
  return { ...selection, sort, isDescending }
}

function hasAll({ service, status, problem }: ServiceRow, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const text = `${service} ${status} ${problem}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

function compare(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0
}
