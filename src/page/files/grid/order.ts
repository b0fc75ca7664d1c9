/** By which column rows are sorted. */
export interface Order<Key extends string = string> {
  readonly sort: Key
  readonly isDescending: boolean
}

type Value = string | number

/** Sorts rows; equal rows keep their order. */
export function sortRows<Row, Key extends string>(
  rows: readonly Row[],
  { sort, isDescending }: Order<Key>,
  values: Readonly<Record<Key, (row: Row) => Value>>,
): readonly Row[] {
  const valueOf = values[sort]
  const direction = isDescending ? -1 : 1
  return rows.toSorted((a, b) => direction * compare(valueOf(a), valueOf(b)))
}

/** The order after a click on a heading. The first click sorts texts ascending, and numbers descending. */
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
