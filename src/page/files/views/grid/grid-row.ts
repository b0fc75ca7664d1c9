import { html } from 'htm/preact'
import type { Column } from './column.ts'

interface Props<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  /** From 0, without the headings. */
  readonly index: number
  /** Pixels from the first row. */
  readonly top: number
  readonly isActive: boolean
  readonly isOpened: boolean
  readonly onClick: () => void
}

/** One row of a grid. */
export function GridRow<Row>(props: Props<Row>) {
  const { row, columns, index, top, isActive, isOpened, onClick } = props
  return html`<div
    role="row"
    id=${`row-${index}`}
    class=${`row${isActive ? ' active' : ''}`}
    aria-rowindex=${index + 2}
    aria-selected=${isOpened}
    style=${{ transform: `translateY(${top}px)` }}
    onClick=${onClick}
  >
    ${columns.map((column, at) => {
      const { key, isNumber = false, show, className, title } = column
      const classes = [isNumber ? 'number' : '', className?.(row) ?? ''].filter(Boolean)
      return html`<div
        key=${key}
        role="gridcell"
        aria-colindex=${at + 1}
        class=${classes.join(' ')}
        title=${title?.(row)}
      >
        ${show(row)}
      </div>`
    })}
  </div>`
}
