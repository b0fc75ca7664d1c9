/** One column of a grid. */
export interface Column<Row> {
  /** By which it is sorted. */
  readonly key: string
  readonly name: string
  readonly isNumber?: boolean
  /** What a cell holds. */
  readonly show: (row: Row) => unknown
  /** Classes of its cells. */
  readonly className?: (row: Row) => string
  /** The whole text of a cell that may be cut off. */
  readonly title?: (row: Row) => string
}
