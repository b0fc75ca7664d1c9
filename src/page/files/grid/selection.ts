import { type Order, sortRows } from './order.ts'

/** Which rows are shown, and in which order. */
export interface Selection<Key extends string = string> extends Order<Key> {
  /** Words that a row has, all of them; case does not count. */
  readonly text: string
  /** Only what is not as it should be. */
  readonly onlyProblems: boolean
}

/** What of a row selects it. */
export interface RowRules<Row, Key extends string> {
  /** What it is sorted by, for each column. */
  readonly values: Readonly<Record<Key, (row: Row) => string | number>>
  /** Where words are looked for. */
  readonly textOf: (row: Row) => string
  readonly isProblem: (row: Row) => boolean
}

/** The rows that a selection shows. */
export function selectRows<Row, Key extends string>(
  rows: readonly Row[],
  selection: Selection<Key>,
  { values, textOf, isProblem }: RowRules<Row, Key>,
): readonly Row[] {
  const { text, onlyProblems } = selection
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = rows.filter(
    (row) => (!onlyProblems || isProblem(row)) && hasAll(textOf(row), words),
  )
  return sortRows(shown, selection, values)
}

function hasAll(text: string, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const lower = text.toLowerCase()
  return words.every((word) => lower.includes(word))
}
