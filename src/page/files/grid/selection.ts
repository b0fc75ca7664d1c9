import { type Order, sortRows } from './order.ts'

/** Which rows are shown, and in which order. */
export interface Selection<Key extends string = string> extends Order<Key> {
  /** Words that a row must contain, all of them, in any case. */
  readonly text: string
  /** Whether only rows with problems are shown. */
  readonly onlyProblems: boolean
}

/** How rows are sorted and searched. */
export interface RowRules<Row, Key extends string> {
  /** The value by which a column is sorted. */
  readonly values: Readonly<Record<Key, (row: Row) => string | number>>
  /** The text in which words are searched. */
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
