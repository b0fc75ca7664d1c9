import { html } from 'htm/preact'
import type { Order } from '../../grid/order.ts'
import type { Column } from './column.ts'

interface Props {
  readonly columns: readonly Pick<Column<never>, 'key' | 'name' | 'isNumber'>[]
  readonly order: Order
  readonly sortBy: (key: string) => void
}

/** The first row of the grid: what a column holds, and by which one it is sorted. */
export function GridHeadings({ columns, order, sortBy }: Props) {
  return html`<div role="rowgroup" class="head">
    <div role="row" class="row" aria-rowindex="1">
      ${columns.map(
        ({ key, name, isNumber = false }, index) => html`<div
          key=${key}
          role="columnheader"
          class=${isNumber ? 'number' : ''}
          aria-colindex=${index + 1}
          aria-sort=${sortOf(order, key)}
        >
          <button type="button" onClick=${() => sortBy(key)}>${name}</button>
        </div>`,
      )}
    </div>
  </div>`
}

function sortOf({ sort, isDescending }: Order, key: string): string {
  if (sort !== key) return 'none'
  return isDescending ? 'descending' : 'ascending'
}
