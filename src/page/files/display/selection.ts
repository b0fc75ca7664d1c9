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

/** By which column rows are sorted. */
export interface Order<Key extends string = string> {
  readonly sort: Key
  readonly isDescending: boolean
}

type Value = string | number

/** Rows in an order; those that are equal keep theirs. */
function sortRows<Row, Key extends string>(
  rows: readonly Row[],
  { sort, isDescending }: Order<Key>,
  values: Readonly<Record<Key, (row: Row) => Value>>,
): readonly Row[] {
  const valueOf = values[sort]
  const direction = isDescending ? -1 : 1
  return rows.toSorted((a, b) => direction * compare(valueOf(a), valueOf(b)))
}

/** What a click on a heading makes of the order: texts rise first, numbers fall first. */
export function orderedBy<Key extends string>(
  order: Order<Key>,
  sort: Key,
  texts: ReadonlySet<string>,
): Order<Key> {
  return { sort, isDescending: order.sort === sort ? !order.isDescending : !texts.has(sort) }
}

function compare(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0
}
