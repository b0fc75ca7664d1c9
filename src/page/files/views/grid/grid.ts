import { html } from 'htm/preact'
import { useRef, useState } from 'preact/hooks'
import { moveRow } from '../../grid/move-row.ts'
import type { Order } from '../../grid/order.ts'
import { elementCount, scrollTo, visibleWindow } from '../../grid/visible-window.ts'
import type { Column } from './column.ts'
import { GridHeadings } from './grid-headings.ts'
import { GridRow } from './grid-row.ts'
import { useScroll } from './use-scroll.ts'

/** What a grid shows. */
export interface GridProps<Row> {
  /** Its name for a screen reader. */
  readonly label: string
  /** Of the style sheet: how wide columns are. */
  readonly name: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly order: Order
  readonly sortBy: (key: string) => void
  /** The key whose details are shown; empty: none. */
  readonly opened: string
  readonly open: (key: string) => void
  readonly isLoading: boolean
  /** What stands where no row fits. */
  readonly empty: string
}

/** As `.grid` in services.css has them, in pixels. */
const ROW_HEIGHT = 30
const HEAD_HEIGHT = 32

/**
 * A table. Only the rows that are seen exist; a screen reader gets their number and position from ARIA. The grid is
 * one stop of the tab key, and the arrow keys move its active row.
 */
export function Grid<Row>(props: GridProps<Row>) {
  const { columns, rows, keyOf, opened, open, isLoading } = props
  const grid = useRef<HTMLDivElement>(null)
  const { scrollTop, height } = useScroll(grid, HEAD_HEIGHT)
  const [active, setActive] = useState('')
  const index = active === '' ? -1 : rows.findIndex((row) => keyOf(row) === active)
  const viewport = { scrollTop, height, rowHeight: ROW_HEIGHT, count: rows.length }
  const { start, end } = visibleWindow(viewport)
  const elements = elementCount(viewport)
  const isSeen = index >= start && index < end

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== grid.current) return
    if (event.key === 'Enter' && index >= 0) return open(active)
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1)
    const target = moveRow(event.key, index, { count: rows.length, page })
    const row = target === undefined ? undefined : rows[target]
    if (target === undefined || row === undefined) return
    event.preventDefault()
    setActive(keyOf(row))
    grid.current?.scrollTo({
      top: scrollTo(target, { ...viewport, scrollTop: grid.current.scrollTop }),
    })
  }
  const choose = (key: string) => {
    setActive(key)
    open(key)
  }
  return html`<div
    class="grid"
    data-columns=${props.name}
    role="grid"
    aria-label=${props.label}
    aria-rowcount=${rows.length + 1}
    aria-colcount=${columns.length}
    aria-busy=${isLoading}
    aria-activedescendant=${isSeen ? `row-${index}` : undefined}
    tabindex="0"
    ref=${grid}
    onKeyDown=${onKeyDown}
  >
    <${GridHeadings} columns=${columns} order=${props.order} sortBy=${props.sortBy} />
    <div role="rowgroup" class="rows" style=${{ height: `${rows.length * ROW_HEIGHT}px` }}>
      ${rows.slice(start, end).map((row, offset) => {
        const [at, key] = [start + offset, keyOf(row)]
        return html`<${GridRow}
          key=${at % elements}
          ...${{ row, columns, index: at, top: at * ROW_HEIGHT }}
          isActive=${key === active}
          isOpened=${key === opened}
          onClick=${() => choose(key)}
        />`
      })}
    </div>
    ${rows.length === 0 && !isLoading ? html`<p class="empty">${props.empty}</p>` : null}
  </div>`
}
