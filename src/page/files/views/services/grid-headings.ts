import { html } from 'htm/preact'
import { type Selection, type SortKey, sortedBy } from '../../services/select-rows.ts'

const COLUMNS: readonly (readonly [key: SortKey, name: string, isNumber: boolean])[] = [
  ['service', 'Service', false],
  ['status', 'State', false],
  ['entries', 'Ports', true],
  ['backends', 'Backends', true],
  ['connections', 'Connections/s', true],
  ['bytes', 'Traffic/s', true],
]

interface Props {
  readonly selection: Selection
  readonly select: (selection: Selection) => void
}

/** The first row of the grid: what a column holds, and by which one it is sorted. */
export function GridHeadings({ selection, select }: Props) {
  return html`<div role="rowgroup" class="head">
    <div role="row" class="row" aria-rowindex="1">
      ${COLUMNS.map(
        ([key, name, isNumber], index) => html`<div
          key=${key}
          role="columnheader"
          class=${isNumber ? 'number' : ''}
          aria-colindex=${index + 1}
          aria-sort=${sortOf(selection, key)}
        >
          <button type="button" onClick=${() => select(sortedBy(selection, key))}>${name}</button>
        </div>`,
      )}
    </div>
  </div>`
}

function sortOf({ sort, isDescending }: Selection, key: SortKey): string {
  if (sort !== key) return 'none'
  return isDescending ? 'descending' : 'ascending'
}
